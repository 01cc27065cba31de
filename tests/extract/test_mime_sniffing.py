"""What a body is taken for, by its first bytes: row by row of the MIME Sniffing standard."""

import pytest

from gossamer.extract.mime import RESOURCE_HEADER, computed_type, identify, root_element
from tests.table import table

PNG = b"\x89PNG\r\n\x1a\n"
_LONG_TAGS = ["!DOCTYPE HTML", "HTML", "HEAD", "SCRIPT", "IFRAME", "FONT", "TABLE", "STYLE", "TITLE", "BODY", "!--"]
_TAGS = [*_LONG_TAGS, "H1", "DIV", "A", "B", "BR", "P"]


def mp3_frame(second: int = 0xFB, third: int = 0x90) -> bytes:
    """A frame of 417 bytes: MPEG 1, layer 3, 128 kbit/s at 44.1 kHz, without padding."""
    return bytes([0xFF, second, third, 0]) + bytes(413)


SIGNATURES = [
    (b"<?xml version='1.0'?>", "text/xml"),
    (b" \n\t\f\r<?xml", "text/xml"),
    (b"%PDF-1.7", "application/pdf"),
    (b"%!PS-Adobe-3.0", "application/postscript"),
    (b"\xfe\xff\0h", "text/plain"),
    (b"\xff\xfeh\0", "text/plain"),
    (b"\xef\xbb\xbf\0", "text/plain"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"\0\0\x02\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"RIFF\n\r\0\xffWEBPVP8", "image/webp"),
    (PNG, "image/png"),
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"FORM....AIFF", "audio/aiff"),
    (b"ID3\x04", "audio/mpeg"),
    (b"OggS\0", "application/ogg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"RIFF....AVI LIST", "video/avi"),
    (b"RIFF....WAVEfmt", "audio/wave"),
    (b"\0\0\0\x0cftypmp42", "video/mp4"),
    (b"\0\0\0\x18ftypisom\0\0\0\0isommp41", "video/mp4"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm\x42\x87", "video/webm"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88\0\0\0\0webm\x42\x87", "video/webm"),
    (mp3_frame() + mp3_frame(), "audio/mpeg"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07\0", "application/x-rar-compressed"),
    (b"just words", "text/plain"),
    (b"", "text/plain"),
    (b"caf\xe9", "text/plain"),
    (b"bell \x07", "application/octet-stream"),
]

NEAR_MISSES = [
    (b"<htmlx>", "text/plain"),
    (b"<a", "text/plain"),
    (b"<article>", "text/plain"),
    (b"<!--x", "text/plain"),
    (b"x<html>", "text/plain"),
    (b" %PDF-1.7", "text/plain"),
    (b"\xfe\xff", "text/plain"),
    (b"GIF88a", "text/plain"),
    (b"RIFF....WEBPX8", "text/plain"),
    (b"\0\0\0\x0dftypmp42x", "application/octet-stream"),  # a size that is no multiple of four
    (b"\0\0\0\xffftypmp42", "application/octet-stream"),  # longer than what is there
    (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", "application/octet-stream"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska\x42\x87", "application/octet-stream"),
    (b"\x1a\x45\xdf\xa3\x9f\x42\x82", "application/octet-stream"),
    (mp3_frame(), "application/octet-stream"),  # one frame alone may be chance
    (mp3_frame() + b"\xff\xfd\x90\0", "application/octet-stream"),  # the second of another layer
    (mp3_frame(third=0xF0) + mp3_frame(), "application/octet-stream"),
]


@table(("start", "expected"), SIGNATURES + NEAR_MISSES)
def test_an_undeclared_body_is_what_it_begins_with(start: bytes, expected: str) -> None:
    assert identify(start).essence == expected


@pytest.mark.parametrize("tag", _TAGS)
@pytest.mark.parametrize("end", [b" ", b">"])
def test_every_tag_of_the_table_makes_an_undeclared_body_html(tag: str, end: bytes) -> None:
    for spelt in (tag, tag.lower()):
        assert identify(b"\r\n\t\f <" + spelt.encode() + end).essence == "text/html"


@pytest.mark.parametrize("declared", [None, "", "nonsense", "unknown/unknown", "application/unknown", "*/*"])
def test_a_header_that_says_nothing_leaves_it_to_the_bytes(declared: str | None) -> None:
    assert computed_type(declared, PNG).essence == "image/png"


@pytest.mark.parametrize("declared", ["text/html", "application/xhtml+xml", "text/xml", "image/svg+xml", "x/y+xml"])
def test_html_and_xml_are_what_they_are_declared_as(declared: str) -> None:
    assert computed_type(declared, PNG).essence == declared


@pytest.mark.parametrize(
    "declared",
    ["text/plain", "text/plain; charset=ISO-8859-1", "text/plain; charset=iso-8859-1", "text/plain; charset=UTF-8"],
)
def test_the_apache_bug_makes_binary_of_text_and_never_more(declared: str) -> None:
    assert computed_type(declared, b"words").essence == "text/plain"
    assert computed_type(declared, b"\xff\xfe\0\0").essence == "text/plain"
    assert computed_type(declared, b"\xef\xbb\xbf\0").essence == "text/plain"
    assert computed_type(declared, PNG).essence == "application/octet-stream"
    assert computed_type(declared, b"<html>").essence == "text/plain"


@pytest.mark.parametrize(
    "declared", ["text/plain;charset=utf-8", "Text/Plain", "text/plain; charset=utf-8", "text/css"]
)
def test_text_declared_in_any_other_way_is_text(declared: str) -> None:
    found = computed_type(declared, PNG)

    assert found.essence == declared.partition(";")[0].lower()


def test_the_last_of_several_headers_is_the_one_with_the_bug() -> None:
    assert computed_type("text/html, text/plain", PNG).essence == "application/octet-stream"


def test_images_and_sounds_are_told_apart_within_their_family() -> None:
    assert computed_type("image/gif", PNG).essence == "image/png"
    assert computed_type("image/gif", b"<html>").essence == "image/gif"
    assert computed_type("audio/x-what", b"OggS\0").essence == "application/ogg"
    assert computed_type("application/ogg", b"RIFF....WAVE").essence == "audio/wave"
    assert computed_type("video/mp4", PNG).essence == "video/mp4"
    assert computed_type("application/json", PNG).essence == "application/json"


def test_nosniff_keeps_what_is_declared_and_never_finds_what_can_run() -> None:
    assert computed_type("image/gif", PNG, no_sniff=True).essence == "image/gif"
    assert computed_type("text/plain", PNG, no_sniff=True).essence == "text/plain"
    assert computed_type(None, b"<html>", no_sniff=True).essence == "text/plain"
    assert computed_type(None, PNG, no_sniff=True).essence == "image/png"


def test_what_stands_past_the_resource_header_is_not_looked_at() -> None:
    assert identify(b" " * RESOURCE_HEADER + b"<html>").essence == "text/plain"
    assert identify(b"x" * RESOURCE_HEADER + b"\0").essence == "text/plain"
    assert identify(b"x" * (RESOURCE_HEADER - 1) + b"\0").essence == "application/octet-stream"


@table(
    ("start", "root"),
    [
        (b"<rss version='2.0'>", "rss"),
        (b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<!-- <a> --><?style x?><feed xmlns='x'>", "feed"),
        (b"<?xml version='1.0'?><rdf:RDF ", "rdf:RDF"),
        (b"<!DOCTYPE rss PUBLIC 'x' 'y' [<!ENTITY a 'b'>]><rss>", "rss"),
        (b"<urlset/>", "urlset"),
        (b"<urlset", "urlset"),
        (b"words <rss>", None),
        (b"<!-- never closed > <rss>", None),
        (b"<?xml ", None),
        (b"", None),
        (b"<!-->" * 1000, None),
    ],
)
def test_the_first_element_is_found_behind_whatever_may_stand_before_it(start: bytes, root: str | None) -> None:
    assert root_element(start) == root
