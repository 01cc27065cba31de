"""Which character encoding a page is in: byte-order mark, header, `<meta>`, then a guess.

The order and the prescan follow the HTML standard ("determining the character encoding"); the guess is UTF-8 if the
bytes are UTF-8, else that of a detector. Whatever a page says, the answer is one of the encodings of
`encodings.py`, so a label never reaches Python's codec registry.
"""

import codecs
import re

from turbohtml.detect import detect

from gossamer.extract.encodings import LONGEST_LABEL, NAME_OF_LABEL
from gossamer.extract.mime import declared_type

_PRESCAN_BYTES = 1024  # the standard's number: how far a declaration may stand from the start
_DETECTED_BYTES = 8192  # the detector takes 50 to 300 ns a byte
_SPACE = "\t\n\f\r "
_NAMES = frozenset(NAME_OF_LABEL.values())
_TELLING = re.compile(rb"[\x80-\xff]")

_CHARSET_IN_META = re.compile(r"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(["']?)""", re.IGNORECASE)
_UNTIL_SPACE = re.compile(r"[^\t\n\f\r ;]*")
_XML_ENCODING = re.compile(rb"""<\?xml[^>]*?\bencoding[\x00-\x20]*=[\x00-\x20]*(["'])([\x21-\x7e]*?)\1""")

# Where a prescan looks up from the text: a comment, a tag, or `<!`, `</`, `<?` and whatever follows.
_MARKUP = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|/?[a-z][^\t\n\f\r >]*+|[!/?])", re.IGNORECASE)
# One attribute: the closing `>`, or a name with perhaps a value. Possessive, so that no input is read twice.
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*+"
    rb"(?:(?P<end>>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*+)"
    rb"(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+"
    rb"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<open>[\"'])|(?P<bare>[^\t\n\f\r >]*+)))?)"
)


def encoding_of_label(label: str) -> str | None:
    """The encoding's name as the standard spells it, or None for what is no label."""
    label = label.strip(_SPACE)
    # Only ASCII may be folded: `lower` would turn a Kelvin sign into a k.
    if len(label) > LONGEST_LABEL or not label.isascii():
        return None
    return NAME_OF_LABEL.get(label.lower())


def charset_parameter(content_type: str | None) -> str | None:
    """The `charset` parameter of a Content-Type header, as written, if it has one: as the MIME Sniffing standard
    reads it. What was asked of the same header before is remembered."""
    declared = declared_type(content_type)
    return None if declared is None else declared.charset


def encoding_in_meta(*, charset: str | None, http_equiv: str | None, content: str | None) -> str | None:
    """What a `<meta>` element with these attributes declares, as a parser should take it.

    UTF-16 means UTF-8 here, since the declaration itself could not have been read in UTF-16, and
    `x-user-defined` means windows-1252: both as the standard says.
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
    """The encoding that the page or its header declares early enough to be believed; None if neither does."""
    by_mark = _encoding_of_mark(body)
    if by_mark is not None:
        return by_mark
    if http_charset is not None:
        by_header = encoding_of_label(http_charset)
        if by_header is not None:
            return by_header
    return _prescan(body[:_PRESCAN_BYTES])


def guess_encoding(body: bytes) -> str:
    """UTF-8 if the bytes are valid UTF-8 (a character cut off at the very end is forgiven), else what a browser's
    detector takes them for, by the characters that stand beside one another; windows-1252 if it cannot tell."""
    if body.isascii():
        return "UTF-8" if b"\x1b$" not in body else _japanese_in_ascii(body)
    try:
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        telling = _TELLING.search(body)
        return _detected(body, 0 if telling is None else telling.start())
    return "UTF-8"


def _japanese_in_ascii(body: bytes) -> str:
    """ISO-2022-JP is ASCII with escapes; whether these make sense, the detector knows."""
    start = body.index(b"\x1b$")
    found = detect(body[start : start + _DETECTED_BYTES]).encoding
    return found if found == "ISO-2022-JP" else "UTF-8"


def _detected(body: bytes, start: int) -> str:
    """What turbohtml's detector, which follows that of Firefox, says of the first few kilobytes that tell anything.

    Without their tags: to the detector a `<meta>` would be a declaration, wherever it stood. Behind a space, so that no
    bytes in the middle of a page are taken for a mark.
    """
    sample = b" " + body[start : start + _DETECTED_BYTES].replace(b"<", b" ")
    found = detect(sample).encoding
    return found if found in _NAMES else "windows-1252"


def replaced_in_utf8(body: bytes) -> int:
    """How many characters have to be replaced where `body` is read as UTF-8: less than a microsecond for a page in
    ASCII, 8 to 26 for 17 to 33 kB of other text."""
    if body.isascii():
        return 0
    try:
        codecs.utf_8_decode(body, "strict", True)
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").count("\ufffd") - body.count(b"\xef\xbf\xbd")
    return 0


def choose_encoding(body: bytes, http_charset: str | None) -> str:
    """The name of the encoding to read `body` in. Never raises; the same bytes always give the same answer.

    `http_charset` is the label from the Content-Type header, not the whole header. A `<meta>` that stands
    later than the first 1,024 bytes is not seen here; `extract_page` heeds it once it has the tree.
    """
    return declared_encoding(body, http_charset) or guess_encoding(body)


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
    # Most pages without a declaration do not hold the word at all.
    if b"charset" in head.lower():
        found = _prescan_markup(head)
        if found is not None:
            return found
    xml = _XML_ENCODING.match(head)
    if xml is None:
        return None
    return encoding_in_meta(charset=xml[2].decode("ascii"), http_equiv=None, content=None)


def _prescan_markup(head: bytes) -> str | None:
    """Walk over tags and comments. Input that ends inside one ends the walk without an answer."""
    position = 0
    while (markup := _MARKUP.search(head, position)) is not None:
        if markup[1]:
            # The dashes of `<!-->` may open and close at once.
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
