"""The words of a page that it is there for, and the language they are in."""

from collections.abc import Mapping
from types import MappingProxyType

from turbohtml import Document
from turbohtml.detect import detect_language

MAX_TEXT = 1 << 20
"""Characters of a text that are kept."""

_WEIGHED_BYTES = 1 << 20  # pages built to be slow take two seconds a megabyte; plain text a fiftieth of that
_ENOUGH = 4_000  # characters from which a language is guessed
_TOO_FEW = 40

# The detector answers in ISO 639-3; BCP 47 asks for the shorter code where there is one.
_PAIRS = """
afr=af aka=ak amh=am ara=ar aze=az bel=be ben=bn bul=bg cat=ca ces=cs cmn=zh cym=cy dan=da deu=de
ell=el eng=en epo=eo est=et eus=eu fas=fa fin=fi fra=fr gle=ga glg=gl guj=gu heb=he hin=hi hrv=hr
hun=hu hye=hy ind=id isl=is ita=it jav=jv jpn=ja kan=kn kat=ka kaz=kk khm=km kor=ko lat=la lav=lv
lit=lt mal=ml mar=mr mkd=mk mya=my nep=ne nld=nl nob=nb ori=or pan=pa pes=fa pol=pl por=pt ron=ro
rus=ru sin=si slk=sk slv=sl sna=sn spa=es sqi=sq srp=sr swe=sv tam=ta tel=te tgl=tl tha=th tuk=tk
tur=tr ukr=uk urd=ur uzb=uz vie=vi yid=yi zul=zu
"""
_SHORT: Mapping[str, str] = MappingProxyType(dict(pair.split("=") for pair in _PAIRS.split()))


def main_text(tree: Document, body_bytes: int) -> str:
    """The text that a reader came for, without navigation; all visible text where no main part stands out, and in
    pages so large that looking for it would take long."""
    text = tree.main_text() if body_bytes <= _WEIGHED_BYTES else ""
    return (text or tree.to_text())[:MAX_TEXT]


def guessed_language(text: str) -> str | None:
    """The language of a text, as BCP 47 has it; None for too little text."""
    if len(text) < _TOO_FEW:
        return None
    found = detect_language(text[:_ENOUGH]).language
    return None if found is None else _SHORT.get(found, found)
