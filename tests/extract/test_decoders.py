"""The decoders of the web against the tables of the Encoding Standard, through the parser that reads our pages.

The decoders here are slow twins, written step by step as the standard has them.
"""

import codecs
import itertools
import json
from collections.abc import Callable, Iterator

import pytest
import turbohtml.detect  # noqa: F401  (it registers the codecs)
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.charset import NAME_OF_LABEL
from gossamer.extract.tree import page_tree
from tests.conformance import shared_data

pytestmark = pytest.mark.library

_INDEXES: dict[str, list[int | None]] = json.loads(shared_data("conformance/encoding/indexes.json").read_text())
_RANGES: list[list[int]] = json.loads(shared_data("conformance/encoding/indexes.json").read_text())["gb18030-ranges"]
_BAD = "\ufffd"
_SINGLE_BYTE = sorted(name for name in {*NAME_OF_LABEL.values()} if len(_INDEXES.get(name.lower(), ())) == 128)

Decoder = Callable[[bytes], str]


def decoded(body: bytes, encoding: str) -> str:
    """The text of `body` by the codecs of turbohtml, malformed bytes as U+FFFD. `encoding` is a name, not a label."""
    if encoding == "replacement":
        return "\ufffd" if body else ""
    if encoding == "UTF-8":
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if encoding == "UTF-16LE":
        return body.removeprefix(codecs.BOM_UTF16_LE).decode("utf-16-le", "replace")
    if encoding == "UTF-16BE":
        return body.removeprefix(codecs.BOM_UTF16_BE).decode("utf-16-be", "replace")
    return codecs.decode(body, f"whatwg-{encoding}")


def _entry(index: str, pointer: int) -> str | None:
    table = _INDEXES[index]
    found = table[pointer] if 0 <= pointer < len(table) else None
    return None if found is None else chr(found)


def _pairs(
    data: bytes, is_lead: Callable[[int], bool], alone: dict[int, str], pair: Callable[[int, int], str | None]
) -> str:
    """What Big5, EUC-KR and Shift_JIS have in common: a lead and a trail; a trail in ASCII survives a bad pair."""
    out: list[str] = []
    lead = 0
    for byte in data:
        if lead:
            found = pair(lead, byte)
            lead = 0
            if found is not None:
                out.append(found)
            else:
                out.append(_BAD + (chr(byte) if byte < 0x80 else ""))
        elif byte < 0x80:
            out.append(chr(byte))
        elif byte in alone:
            out.append(alone[byte])
        elif is_lead(byte):
            lead = byte
        else:
            out.append(_BAD)
    return "".join(out) + (_BAD if lead else "")


def _big5(data: bytes) -> str:
    two = {1133: "\u00ca\u0304", 1135: "\u00ca\u030c", 1164: "\u00ea\u0304", 1166: "\u00ea\u030c"}

    def pair(lead: int, byte: int) -> str | None:
        if not (0x40 <= byte <= 0x7E or 0xA1 <= byte <= 0xFE):
            return None
        pointer = (lead - 0x81) * 157 + byte - (0x40 if byte < 0x7F else 0x62)
        return two.get(pointer) or _entry("big5", pointer)

    return _pairs(data, lambda byte: 0x81 <= byte <= 0xFE, {}, pair)


def _euc_kr(data: bytes) -> str:
    def pair(lead: int, byte: int) -> str | None:
        return _entry("euc-kr", (lead - 0x81) * 190 + byte - 0x41) if 0x41 <= byte <= 0xFE else None

    return _pairs(data, lambda byte: 0x81 <= byte <= 0xFE, {}, pair)


def _shift_jis(data: bytes) -> str:
    def pair(lead: int, byte: int) -> str | None:
        if not (0x40 <= byte <= 0x7E or 0x80 <= byte <= 0xFC):
            return None
        pointer = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 188 + byte - (0x40 if byte < 0x7F else 0x41)
        return chr(0xE000 - 8836 + pointer) if 8836 <= pointer <= 10715 else _entry("jis0208", pointer)

    alone = {0x80: "\x80", **{byte: chr(0xFF61 - 0xA1 + byte) for byte in range(0xA1, 0xE0)}}
    return _pairs(data, lambda byte: 0x81 <= byte <= 0x9F or 0xE0 <= byte <= 0xFC, alone, pair)


def _euc_jp(data: bytes) -> str:
    out: list[str] = []
    lead, three = 0, False
    for byte in data:
        if lead == 0x8E and 0xA1 <= byte <= 0xDF:
            lead = 0
            out.append(chr(0xFF61 - 0xA1 + byte))
        elif lead == 0x8F and 0xA1 <= byte <= 0xFE:
            lead, three = byte, True
        elif lead:
            found = None
            if 0xA1 <= lead <= 0xFE and 0xA1 <= byte <= 0xFE:
                found = _entry("jis0212" if three else "jis0208", (lead - 0xA1) * 94 + byte - 0xA1)
            lead, three = 0, False
            out.append(found or (_BAD + (chr(byte) if byte < 0x80 else "")))
        elif byte < 0x80:
            out.append(chr(byte))
        elif byte in (0x8E, 0x8F) or 0xA1 <= byte <= 0xFE:
            lead = byte
        else:
            out.append(_BAD)
    return "".join(out) + (_BAD if lead else "")


def _in_ranges(pointer: int) -> str | None:
    if 39419 < pointer < 189000 or pointer > 1237575:
        return None
    if pointer == 7457:
        return "\ue7c7"
    start, first = max(pair for pair in _RANGES if pair[0] <= pointer)
    return chr(first + pointer - start)


def _gb18030(data: bytes) -> str:
    out: list[str] = []
    kept: list[int] = []  # the bytes of a character that is not complete
    queue = list(reversed(data))
    while queue:
        byte = queue.pop()
        if len(kept) == 3:
            if not 0x30 <= byte <= 0x39:
                queue += [byte, kept[2], kept[1]]
                out.append(_BAD)
            else:
                first, second, third = kept
                pointer = ((first - 0x81) * 10 + second - 0x30) * 1260 + (third - 0x81) * 10 + byte - 0x30
                out.append(_in_ranges(pointer) or _BAD)
            kept = []
        elif len(kept) == 2:
            if 0x81 <= byte <= 0xFE:
                kept.append(byte)
            else:
                queue += [byte, kept[1]]
                kept = []
                out.append(_BAD)
        elif kept:
            if 0x30 <= byte <= 0x39:
                kept.append(byte)
                continue
            found = None
            if 0x40 <= byte <= 0x7E or 0x80 <= byte <= 0xFE:
                found = _entry("gb18030", (kept[0] - 0x81) * 190 + byte - (0x40 if byte < 0x7F else 0x41))
            kept = []
            out.append(found or (_BAD + (chr(byte) if byte < 0x80 else "")))
        elif byte < 0x80:
            out.append(chr(byte))
        elif byte == 0x80:
            out.append("\u20ac")
        elif byte < 0xFF:
            kept = [byte]
        else:
            out.append(_BAD)
    return "".join(out) + (_BAD if kept else "")


_SETS = {b"(B": "ascii", b"(J": "roman", b"(I": "katakana", b"$@": "kanji", b"$B": "kanji"}


def _iso_2022_jp(data: bytes) -> str:
    out: list[str] = []
    active = "ascii"
    lead: int | None = None
    fresh = False  # a set was chosen and nothing written in it
    queue = list(reversed(data))
    while queue:
        byte = queue.pop()
        if byte == 0x1B:
            if lead is not None:
                out.append(_BAD)
                lead = None
            chosen = _SETS.get(bytes(reversed(queue[-2:])))
            if chosen is None:
                out.append(_BAD)
                fresh = False
                continue
            del queue[-2:]
            active = chosen
            if fresh:
                out.append(_BAD)
            fresh = True
        elif lead is not None:
            found = _entry("jis0208", (lead - 0x21) * 94 + byte - 0x21) if 0x21 <= byte <= 0x7E else None
            lead = None
            out.append(found or _BAD)
        elif active == "kanji" and 0x21 <= byte <= 0x7E:
            fresh = False
            lead = byte
        else:
            fresh = False
            out.append(_one_of(active, byte))
    return "".join(out) + (_BAD if lead is not None else "")


def _one_of(active: str, byte: int) -> str:
    if active == "katakana":
        return chr(0xFF61 - 0x21 + byte) if 0x21 <= byte <= 0x5F else _BAD
    if active == "kanji" or byte > 0x7F or byte in (0x0E, 0x0F):
        return _BAD
    return {0x5C: "\u00a5", 0x7E: "\u203e"}.get(byte, chr(byte)) if active == "roman" else chr(byte)


_DECODERS: dict[str, Decoder] = {
    "Big5": _big5,
    "EUC-JP": _euc_jp,
    "EUC-KR": _euc_kr,
    "GBK": _gb18030,
    "gb18030": _gb18030,
    "ISO-2022-JP": _iso_2022_jp,
    "Shift_JIS": _shift_jis,
}


def read(data: bytes, encoding: str) -> str:
    """The text as our pages are read. `<plaintext>` takes everything as it comes."""
    tree, found, _ = page_tree(b"<plaintext>" + data, f"text/html; charset={encoding}")
    assert found == encoding
    element = tree.find("plaintext")
    return "" if element is None else element.text


def as_parsed(text: str) -> str:
    """What the parser does to any text: ends of lines, and NUL."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", _BAD)


def pieces(encoding: str) -> Iterator[bytes]:
    """Every pair of bytes, and every longer form that the encoding has."""
    pairs = [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    if encoding == "ISO-2022-JP":
        yield from (b"\x1b$B" + pair + b"\x1b(B" for pair in pairs)
        yield from (b"\x1b(J" + pair[1:] + b"\x1b(I" + pair[1:] + b"\x1b(B" for pair in pairs[:256])
    else:
        yield from pairs
    if encoding == "EUC-JP":
        yield from (b"\x8f" + pair for pair in pairs)
    if encoding in ("GBK", "gb18030"):
        starts = sorted(
            {min(start + step, 1237575) for start, _first in _RANGES for step in (-1, 0, 1, 7) if start + step >= 0}
        )
        for pointer in (*starts, 7457, 39419, 39420, 188999, 189000, 1237575, 1237576):
            rest, fourth = divmod(pointer, 10)
            rest, third = divmod(rest, 126)
            first, second = divmod(rest, 10)
            yield bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + fourth])


@pytest.mark.parametrize("encoding", _SINGLE_BYTE)
def test_every_byte_of_a_single_byte_encoding_is_the_character_of_the_standard(encoding: str) -> None:
    expected = "".join(_BAD if code is None else chr(code) for code in _INDEXES[encoding.lower()])

    assert read(bytes(range(0x80, 0x100)), encoding) == expected


def test_all_twenty_seven_single_byte_tables_are_compared() -> None:
    assert len(_SINGLE_BYTE) == 27


@pytest.mark.parametrize("encoding", _DECODERS)
def test_every_pair_of_bytes_is_read_as_the_standard_reads_it(encoding: str) -> None:
    data = b"\n".join(pieces(encoding))

    assert read(data, encoding).split("\n") == as_parsed(_DECODERS[encoding](data)).split("\n")


@pytest.mark.parametrize("encoding", _DECODERS)
@given(data=st.data())
def test_broken_text_is_read_as_the_standard_reads_it(encoding: str, data: st.DataObject) -> None:
    unit = st.sampled_from(
        [b"\x1b", b"$B", b"(J", b"(B", b"(I", b"\x81", b"\x8e", b"\x8f", b"\xa1", b"\xfe", b"0", b"A", b"\x80"]
    )
    body = b"".join(data.draw(st.lists(unit | st.binary(min_size=1, max_size=2), max_size=30)))

    assert read(body, encoding) == as_parsed(_DECODERS[encoding](body))


@given(st.binary(max_size=60))
def test_broken_utf_8_and_utf_16_is_read_as_the_standard_reads_it(body: bytes) -> None:
    # Python's own decoders replace as the standard does; a mark would change the encoding, and cannot stand here.
    assert read(body, "UTF-8") == as_parsed(body.decode("utf-8", "replace"))


@pytest.mark.parametrize("encoding", sorted({*NAME_OF_LABEL.values()} - {"replacement", "UTF-16LE", "UTF-16BE"}))
def test_text_that_is_no_page_is_decoded_as_pages_are(encoding: str) -> None:
    body = bytes(range(1, 256)) + b"\x81\x30\x81\x30 \xa4\xa2 \x88\x62"

    assert as_parsed(decoded(body, encoding)) == read(body, encoding)


@pytest.mark.parametrize(("encoding", "codec"), [("UTF-16LE", "utf-16-le"), ("UTF-16BE", "utf-16-be")])
def test_utf_16_is_decoded_whatever_it_holds(encoding: str, codec: str) -> None:
    assert decoded("a\u20ac\U0001f600".encode(codec), encoding) == "a\u20ac\U0001f600"
    assert decoded("a".encode(codec) + b"\xd8\xd8\xd8", encoding).startswith("a" + _BAD)


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decoded(b"\xef\xbb\xbfx", "UTF-8") == "x"
    assert decoded(b"\xff\xfex\0", "UTF-16LE") == "x"


def test_encodings_that_may_hide_markup_are_replaced_altogether() -> None:
    assert decoded(b"<script>\x1b$)C", "replacement") == _BAD
    assert decoded(b"", "replacement") == ""
