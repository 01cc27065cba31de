"""Determines the character encoding of a page: byte-order mark, header, `<meta>`, then a guess.

The order and the prescan follow the HTML standard ("determining the character encoding"); the guess is UTF-8 if the
bytes are valid UTF-8, else that of a detector. The result is always one of the encodings of the WHATWG Encoding
Standard, whose labels are the table below. A label never reaches Python's codec registry, which knows many more names
(`rot13`, `zlib`, `idna`, `undefined` …) that no page may use (docs/HOSTILE.md, BD-11).
"""

import codecs
import re
from collections.abc import Mapping
from types import MappingProxyType

from turbohtml.detect import detect

from gossamer.extract.mime import declared_type

_LABELS_OF: Mapping[str, str] = {
    "UTF-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "IBM866": "866 cp866 csibm866 ibm866",
    "ISO-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "ISO-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "ISO-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "ISO-8859-5": ("csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"),
    "ISO-8859-6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e"
        " iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "ISO-8859-7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597"
        " iso_8859-7 iso_8859-7:1987 sun_eu_greek"
    ),
    "ISO-8859-8": (
        "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598"
        " iso_8859-8 iso_8859-8:1988 visual"
    ),
    "ISO-8859-8-I": "csiso88598i iso-8859-8-i logical",
    "ISO-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "ISO-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "ISO-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "ISO-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "ISO-8859-16": "iso-8859-16",
    "KOI8-R": "cskoi8r koi koi8 koi8-r koi8_r",
    "KOI8-U": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591"
        " iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    ),
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5"
        " latin5 windows-1254 x-cp1254"
    ),
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "GBK": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "gb18030": "gb18030",
    "Big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "EUC-JP": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "ISO-2022-JP": "csiso2022jp iso-2022-jp",
    "Shift_JIS": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "EUC-KR": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
    ),
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "UTF-16BE": "unicodefffe utf-16be",
    "UTF-16LE": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}

NAME_OF_LABEL: Mapping[str, str] = MappingProxyType(
    {label: name for name, labels in _LABELS_OF.items() for label in labels.split()}
)
"""Every label, in lower case, and the name of its encoding as the standard spells it."""

LONGEST_LABEL = max(map(len, NAME_OF_LABEL))
"""In characters. Anything longer is not a label and need not be looked up."""


_PRESCAN_BYTES = 1024  # the standard's limit for the position of a declaration
_DETECTED_BYTES = 8192  # the detector takes 50 to 300 ns per byte
_SPACE = "\t\n\f\r "
_NAMES = frozenset(NAME_OF_LABEL.values())
_TELLING = re.compile(rb"[\x80-\xff]")

_CHARSET_IN_META = re.compile(r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(["']?)""", re.IGNORECASE)
_UNTIL_SPACE = re.compile(r"[^\t\n\f\r ;]*")
_XML_ENCODING = re.compile(rb"""<\?xml[^>]*?\bencoding[\x00-\x20]*=[\x00-\x20]*(["'])([\x21-\x7e]*?)\1""")

# Where the prescan stops in the text: a comment, a tag, or `<!`, `</`, `<?` and what follows.
_MARKUP = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|/?[a-z][^\t\n\f\r >]*+|[!/?])", re.IGNORECASE)
# One attribute: the closing `>`, or a name with an optional value. Possessive, so that no input is read twice.
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+"
    rb"(?:(?P<end>>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+"
    rb"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<open>[\"'])|(?P<bare>[^\t\n\f\r >]*+)))?)"
)


def encoding_of_label(label: str) -> str | None:
    """The encoding's name as the standard spells it; None if this is not a label."""
    label = label.strip(_SPACE)
    # Only ASCII may be lower-cased: `lower` would turn a Kelvin sign into a k.
    if len(label) > LONGEST_LABEL or not label.isascii():
        return None
    return NAME_OF_LABEL.get(label.lower())


def charset_parameter(content_type: str | None) -> str | None:
    """The `charset` parameter of a Content-Type header, as written, if it has one, parsed as in the MIME Sniffing
    standard. Cached by header."""
    declared = declared_type(content_type)
    return None if declared is None else declared.charset


def encoding_in_meta(*, charset: str | None, http_equiv: str | None, content: str | None) -> str | None:
    """The encoding that a `<meta>` element with these attributes declares.

    UTF-16 means UTF-8 here, since the declaration itself could not have been read in UTF-16, and `x-user-defined` means
    windows-1252; both as in the standard.
    """
    if charset is not None:
        declared = encoding_of_label(charset)
    elif content is not None and http_equiv is not None and http_equiv.lower() == "content-type":
        declared = _encoding_in_content(content)
    else:
        return None
    if declared in ("UTF-16BE", "UTF-16LE"):
        return "UTF-8"
    if declared == "x-user-defined":
        return "windows-1252"
    return declared


def declared_encoding(body: bytes, http_charset: str | None) -> str | None:
    """The encoding that the header or the beginning of the page declares; None if neither does."""
    by_mark = _encoding_of_mark(body)
    if by_mark is not None:
        return by_mark
    if http_charset is not None:
        by_header = encoding_of_label(http_charset)
        if by_header is not None:
            return by_header
    return _prescan(body[:_PRESCAN_BYTES])


def guess_encoding(body: bytes) -> str:
    """UTF-8 if the bytes are valid UTF-8 (except for a character cut off at the end), else the guess of a browser's
    detector, from the frequencies of neighbouring characters; windows-1252 if it cannot tell."""
    if body.isascii():
        return "UTF-8" if b"\x1b$" not in body else _japanese_in_ascii(body)
    try:
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        telling = _TELLING.search(body)
        return _detect(body, 0 if telling is None else telling.start())
    return "UTF-8"


def _japanese_in_ascii(body: bytes) -> str:
    """ISO-2022-JP is ASCII with escapes; the detector decides whether these make sense."""
    start = body.index(b"\x1b$")
    found = detect(body[start : start + _DETECTED_BYTES]).encoding
    return found if found == "ISO-2022-JP" else "UTF-8"


def _detect(body: bytes, start: int) -> str:
    """The guess of turbohtml's detector, which follows Firefox's, for the first few kilobytes with non-ASCII bytes.

    Tags are removed: the detector would treat a `<meta>` anywhere as a declaration. A space goes first, so that bytes
    from the middle of a page are not read as a byte-order mark.
    """
    sample = b" " + body[start : start + _DETECTED_BYTES].replace(b"<", b" ")
    found = detect(sample).encoding
    return found if found in _NAMES else "windows-1252"


def replaced_in_utf8(body: bytes) -> int:
    """How many characters have to be replaced if `body` is read as UTF-8. Takes less than a microsecond for a page in
    ASCII, 8 to 26 for 17 to 33 kB of other text."""
    if body.isascii():
        return 0
    try:
        codecs.utf_8_decode(body, "strict", True)
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").count("\ufffd") - body.count(b"\xef\xbf\xbd")
    return 0


def choose_encoding(body: bytes, http_charset: str | None) -> str:
    """The name of the encoding of `body`. Never raises; the same bytes always give the same answer.

    `http_charset` is the label from the Content-Type header, not the whole header. A `<meta>` after the first 1,024
    bytes is not seen here; `page_tree` handles it once it has the tree.
    """
    return declared_encoding(body, http_charset) or guess_encoding(body)


_CODECS: Mapping[str, str] = MappingProxyType(
    {
        "ISO-8859-8-I": "iso-8859-8",
        "windows-874": "cp874",
        "x-mac-cyrillic": "mac-cyrillic",
        "x-user-defined": "latin-1",
        "replacement": "ascii",
    }
)
"""The encodings that Python has under other names, or as nearly the same."""


def decode(body: bytes, encoding: str) -> str:
    """The text of a document in one of the encodings of the standard, without its byte-order mark. Invalid bytes are
    replaced."""
    return body.decode(_CODECS.get(encoding, encoding), "replace").removeprefix("\ufeff")


def _encoding_of_mark(body: bytes) -> str | None:
    if body.startswith(codecs.BOM_UTF8):
        return "UTF-8"
    if body.startswith(codecs.BOM_UTF16_BE):
        return "UTF-16BE"
    if body.startswith(codecs.BOM_UTF16_LE):
        return "UTF-16LE"
    return None


def _encoding_in_content(content: str) -> str | None:
    """The charset in `text/html; charset=…`, the value of a meta element's content attribute."""
    match = _CHARSET_IN_META.search(content)
    if match is None:
        return None
    start = match.end()
    if match[1]:
        end = content.find(match[1], start)
        return encoding_of_label(content[start:end]) if end >= 0 else None
    value = _UNTIL_SPACE.match(content, start)
    return encoding_of_label(value[0]) if value is not None else None


def _prescan(head: bytes) -> str | None:
    """The standard's prescan: the first usable declaration in a meta element, else in an XML declaration."""
    if head.startswith(b"<\0?\0x\0"):
        return "UTF-16LE"
    if head.startswith(b"\0<\0?\0x"):
        return "UTF-16BE"
    # Most pages without a declaration do not contain the word at all.
    if b"charset" in head.lower():
        found = _prescan_markup(head)
        if found is not None:
            return found
    xml = _XML_ENCODING.match(head)
    if xml is None:
        return None
    return encoding_in_meta(charset=xml[2].decode("ascii"), http_equiv=None, content=None)


def _prescan_markup(head: bytes) -> str | None:
    """Walk over tags and comments. If the input ends inside one, there is no answer."""
    position = 0
    while (markup := _MARKUP.search(head, position)) is not None:
        if markup[1]:
            # The dashes of `<!-->` both open and close it.
            end = head.find(b"-->", markup.start() + 2)
            position = end + 3
        elif markup[0][-1:] in b"!/?":
            end = head.find(b">", markup.end())
            position = end + 1
        else:
            attributes, end = _attributes(head, markup.end())
            position = end
            if markup[2]:
                declared = encoding_in_meta(
                    charset=attributes.get("charset"),
                    http_equiv=attributes.get("http-equiv"),
                    content=attributes.get("content"),
                )
                if declared is not None and end >= 0:
                    return declared
        if end < 0:
            return None
    return None


def _attributes(head: bytes, position: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, the first of each name, and where the tag ends; -1 if it does not."""
    attributes: dict[str, str] = {}
    while (match := _ATTRIBUTE.match(head, position)) is not None:
        position = match.end()
        if match["end"]:
            return attributes, position
        if position >= len(head) or match["open"]:
            break
        value = match["double"] or match["single"] or match["bare"] or b""
        attributes.setdefault(match["name"].decode("latin-1").lower(), value.decode("latin-1"))
    return attributes, -1
