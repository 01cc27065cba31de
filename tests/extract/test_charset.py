"""The choice of a page's encoding."""

import base64
import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.charset import (
    NAME_OF_LABEL,
    charset_parameter,
    choose_encoding,
    declared_encoding,
    encoding_of_label,
    replaced_in_utf8,
)
from gossamer.extract.crawl_page import extract_page
from tests.conformance import shared_data
from tests.table import table

_PRESCAN = json.loads(shared_data("conformance/encoding/prescan.json").read_text())["cases"]


def test_the_labels_are_exactly_those_of_the_encoding_standard() -> None:
    groups = json.loads(shared_data("conformance/encoding/encodings.json").read_text())

    expected = {label: one["name"] for group in groups for one in group["encodings"] for label in one["labels"]}

    assert dict(NAME_OF_LABEL) == expected


@table("case", _PRESCAN)
def test_a_page_is_read_in_the_encoding_that_a_browser_settles_on(case: dict[str, str]) -> None:
    body = case["data"].encode() if "data" in case else base64.b64decode(case["data_base64"])

    # One byte that is not UTF-8 at the end, so that our guess for undeclared pages falls where the cases expect it.
    found = extract_page(body + b"\xe9.", None, "http://x.test/").encoding

    assert found.lower() == case["expected"].lower()


@table(
    ("body", "header", "expected"),
    [
        (codecs.BOM_UTF8 + b"<meta charset=koi8-r>", "windows-1251", "UTF-8"),
        (b"\xff\xfea\0", "utf-8", "UTF-16LE"),
        (b"\xfe\xff\0a", None, "UTF-16BE"),
        (b"<meta charset=koi8-r>", "windows-1251", "windows-1251"),
        (b"<meta charset=koi8-r>", "no-such-thing", "KOI8-R"),
        (b"<meta charset=koi8-r>", None, "KOI8-R"),
        (b"<meta charset=utf-16>", None, "UTF-8"),
        (b"<meta charset=x-user-defined>", None, "windows-1252"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?><html>", None, "ISO-8859-2"),
        (b"<\0?\0x\0m\0l\0", None, "UTF-16LE"),
        (b"\0<\0?\0x\0m\0l", None, "UTF-16BE"),
        ("plain é".encode(), None, "UTF-8"),
        ("cut in the middle é".encode()[:-1], None, "UTF-8"),
        (b"caf\xe9 au lait", None, "windows-1252"),
        (b"", None, "UTF-8"),
    ],
)
def test_mark_then_header_then_declaration_then_guess(body: bytes, header: str | None, expected: str) -> None:
    assert choose_encoding(body, header) == expected


_WRITTEN = {
    "ru": "Это обычная страница о погоде и о книгах, которые мы прочитали этим летом. ",
    "ja": "これは普通の日本語のページです。天気と本について書いています。",
    "zh": "这是一个关于天气和书籍的普通网页。我们夏天读了很多书。",
    "tw": "這是一個關於天氣和書籍的普通網頁。我們夏天讀了很多書。",
    "ko": "이것은 날씨와 책에 관한 평범한 페이지입니다. 우리는 여름에 책을 읽었습니다.",
    "el": "Αυτή είναι μια συνηθισμένη σελίδα για τον καιρό και τα βιβλία.",
    "pl": "Zażółć gęślą jaźń. To jest zwykła strona o pogodzie i książkach.",
    "fr": "C'était une très belle journée d'été à la plage, près du café.",
}


@table(
    ("language", "codec", "expected"),
    [
        ("ru", "cp1251", "windows-1251"),
        ("ru", "koi8-r", "KOI8-U"),
        ("ru", "cp866", "IBM866"),
        ("ja", "shift_jis", "Shift_JIS"),
        ("ja", "euc_jp", "EUC-JP"),
        ("ja", "iso2022_jp", "ISO-2022-JP"),
        ("zh", "gbk", "GBK"),
        ("tw", "big5", "Big5"),
        ("ko", "euc_kr", "EUC-KR"),
        ("el", "cp1253", "windows-1253"),
        ("pl", "iso8859-2", "ISO-8859-2"),
        ("fr", "cp1252", "windows-1252"),
    ],
)
def test_a_page_that_declares_nothing_is_read_in_the_encoding_that_its_letters_tell(
    language: str, codec: str, expected: str
) -> None:
    text = _WRITTEN[language]
    body = ("<title>x</title>" + "<p>plain" * 3000 + f'<p>{text}<a href="/{text[:5]}">').encode(codec)

    page = extract_page(body, "text/html", "http://x.test/")

    assert page.encoding == expected
    assert page.hrefs == ["/" + text[:5]]


def test_escapes_that_make_no_sense_do_not_make_a_page_japanese() -> None:
    assert choose_encoding(b"<p>price \x1b$ 5", None) == "UTF-8"


def test_a_declaration_in_a_script_is_not_taken_for_one_when_guessing() -> None:
    body = b"<p>" * 500 + b"caf\xe9 <script>'<meta charset=koi8-r>'</script>"

    assert choose_encoding(body, None) == "windows-1252"


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"])
def test_a_mark_in_the_middle_of_a_page_is_none(mark: bytes) -> None:
    assert not choose_encoding(b"<p>x " + mark + b" \xe9 ", None).startswith("UTF")


@table(
    ("head", "expected"),
    [
        (b"<!--><meta charset=koi8-r>", "KOI8-R"),
        (b"<?php <meta charset=koi8-r> <meta charset=koi8-u>", "KOI8-U"),
        (b"</a x='<meta charset=koi8-r>'><meta charset=koi8-u>", "KOI8-U"),
        (b"<meta charset=koi8-r charset=koi8-u>", "KOI8-R"),
        (b"<meta charset=no-such-thing><meta charset=koi8-r>", "KOI8-R"),
        (b'<meta x="unclosed charset=koi8-r>', None),
        (b"<meta charset=koi8-r x", None),
        (b"<!-- <meta charset=koi8-r>", None),
        (b"<metal charset=koi8-r>", None),
    ],
)
def test_the_prescan_reads_markup_as_a_browser_does(head: bytes, expected: str | None) -> None:
    assert declared_encoding(head, None) == expected


@table(
    "label", ["\0utf-8", "rot13", "zlib", "idna", "undefined", "x" * 10_240, "", "\u212aoi8-r", "u\u017ff-8", "mbcs"]
)
def test_names_that_are_no_labels_are_never_accepted(label: str) -> None:
    assert encoding_of_label(label) is None
    assert choose_encoding(f"<meta charset='{label}'>".encode(), label) == "UTF-8"


def test_labels_are_taken_in_any_case_and_with_space_around_them() -> None:
    assert encoding_of_label(" \tLatin1\r\n") == "windows-1252"


@table(
    ("header", "expected"),
    [
        (None, None),
        ("text/html", None),
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html; x=y; Charset="Koi8-R"; z', "Koi8-R"),
        ("text/html;charset='latin1'", "'latin1'"),
        ("text/html;charset =latin1", None),
        ("; charset=latin1", None),
        ("text/html; notcharset=x", None),
        ('text/html; charset=""', ""),
        ("text/html;charset=koi8-r, text/html", "koi8-r"),
    ],
)
def test_the_charset_parameter_is_read_from_the_header(header: str | None, expected: str | None) -> None:
    assert charset_parameter(header) == expected


@given(st.binary(max_size=200), st.none() | st.text(max_size=20))
def test_whatever_comes_the_answer_is_an_encoding_of_the_standard(body: bytes, header: str | None) -> None:
    assert choose_encoding(body, header) in NAME_OF_LABEL.values()


@given(
    st.lists(
        st.sampled_from(
            [b"<meta ", b"charset", b"=", b"'", b'"', b">", b"/", b" ", b"<!--", b"-->", b"utf-8", b"<?", b"a"]
        ),
        max_size=25,
    ).map(b"".join)
)
def test_the_prescan_never_stumbles_over_markup(head: bytes) -> None:
    assert declared_encoding(head, None) in (None, "UTF-8")


def test_every_content_type_of_the_standard_declares_the_encoding_that_it_says() -> None:
    found = json.loads(shared_data("conformance/http/mime-types.json").read_text())
    cases = [case for case in found if isinstance(case, dict)]
    wrong = []
    for case in cases:
        label = charset_parameter(case["input"])
        if (None if label is None else encoding_of_label(label)) != case.get("encoding"):
            wrong.append((case["input"], case.get("encoding"), label))

    assert wrong == []
    assert len(cases) == 74


@pytest.mark.parametrize(
    ("body", "replaced"),
    [
        (b"plain", 0),
        ("schön \ufffd".encode(), 0),  # one that was written is none that we put there
        ("schön".encode("latin-1"), 1),
        ("Привет".encode("windows-1251"), 6),
        ("schön \ufffd".encode() + b"\xff", 1),
        ("ö".encode()[:1], 1),
    ],
)
def test_characters_that_are_none_in_utf_8_are_counted(body: bytes, replaced: int) -> None:
    assert replaced_in_utf8(body) == replaced
    assert extract_page(b"<p>" + body, "text/html; charset=utf-8", "http://h.test/").replaced == replaced


@pytest.mark.parametrize(
    ("charset", "body", "replaced"),
    [("shift_jis", "日本".encode("shift_jis") + b"\xff", 1), ("windows-1252", b"\x81\xff", 0), ("koi8-r", b"\xc1", 0)],
)
def test_characters_that_are_none_in_other_encodings_are_counted(charset: str, body: bytes, replaced: int) -> None:
    page = extract_page(b"<p>" + body + b"</p>", f"text/html; charset={charset}", "http://h.test/")

    assert page.replaced == replaced
