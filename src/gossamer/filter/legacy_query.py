"""Queries of links on pages that are not UTF-8.

The standard percent-encodes a link's query in the encoding of its document, everything else in UTF-8. The
server behind such a page knows only that form, so a UTF-8 query would ask for another document.
"""

import codecs
import re
from functools import lru_cache

from gossamer.filter.canonical import scalar_values

# The legacy encodings of the Encoding standard by the name that Python's registry gives them, and the codec whose
# repertoire is the standard's. Nothing else is looked up by a name that a page wrote: `idna` or `hex` are codecs too.
_SAME_IN_PYTHON = (
    "big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874 cp932 cp949 cp950 euc_jp "
    "gb18030 gbk iso2022_jp iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 iso8859-2 iso8859-3 iso8859-4 "
    "iso8859-5 iso8859-6 iso8859-7 iso8859-8 koi8-r koi8-u mac-cyrillic mac-roman"
)
_CODECS = {name: name for name in _SAME_IN_PYTHON.split()} | {
    "ascii": "cp1252",
    "big5": "cp950",
    "euc_kr": "cp949",
    "gb2312": "gbk",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_LABELS = {"x-sjis": "cp932", "windows-874": "cp874", "x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8"}

# The special-query percent-encode set is all the rest. `%` stays: what is escaped already is escaped once.
_SAFE = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
_ESCAPED = {byte: chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in range(256)}
_QUERY = re.compile(r"\A([^?#]*\?)([^#]*)(.*)\Z", re.DOTALL).match
_C0_OR_SPACE = "".join(map(chr, range(0x21)))
_DROP_TAB_AND_NEWLINE = {9: None, 10: None, 13: None}
# ISO-2022-JP between its escapes: two-byte characters, in which `&#` may be half of something else.
_TWO_BYTE_RUN = re.compile(r"(\x1b\$[@B][^\x1b]*)").split
_REFERENCE = re.compile(r"&%23([0-9]+);").sub

_MINUS: dict[int, str] = {0x2212: "\uff0d"}
_REPLACED_FIRST: dict[str, dict[int, str]] = {
    # Where the Encoding standard's encoders differ from Python's codecs. In ISO-2022-JP the three controls would
    # switch the reader's state, so they count as U+FFFD, which it lacks.
    "cp932": _MINUS,
    "euc_jp": _MINUS,
    "iso2022_jp": dict.fromkeys((0x0E, 0x0F, 0x1B), "&#65533;"),
    "gb18030": {0xE5E5: "&#58853;"},
}


def with_encoded_query(ref: str, encoding: str) -> str:
    """`ref` with its query percent-encoded as a document in `encoding` would send it.

    A character that the encoding lacks becomes its HTML reference (`%26%238224%3B`), as in browsers.
    Returns `ref` itself when it has nothing to encode, or the encoding is UTF-8 or unknown.
    """
    codec = _codec(encoding)
    if codec is None or "?" not in ref or (ref.isascii() and codec != "iso2022_jp"):
        return ref
    match = _QUERY(ref.strip(_C0_OR_SPACE).translate(_DROP_TAB_AND_NEWLINE))
    if match is None:
        return ref
    query = match[2].translate(_REPLACED_FIRST.get(codec, {}))
    sent = scalar_values(query).encode(codec, "xmlcharrefreplace").decode("latin-1")
    pieces = [piece.translate(_ESCAPED) for piece in _TWO_BYTE_RUN(sent)]
    pieces[::2] = [_REFERENCE(r"%26%23\1%3B", piece) for piece in pieces[::2]]
    return match[1] + "".join(pieces) + match[3]


@lru_cache(256)
def _codec(encoding: str) -> str | None:
    """Python's name of the codec for queries, None for those whose queries are UTF-8, or that we do not know."""
    label = encoding.strip().lower()
    try:
        return _CODECS.get(codecs.lookup(_LABELS.get(label, label)).name)
    except (LookupError, ValueError):
        return None
