"""Reading sitemaps and feeds: hostile ones, damaged ones, and the bounds (docs/HOSTILE.md, SM-03 to SM-11)."""

import gzip
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.extract.sitemaps import Entry, Fault, ListKind, Outcome, ReadLimits, Related, is_feed, read_list
from gossamer.extract.sitemaps.entries import any_date
from gossamer.model.units import Instant
from tests.effort import Cost, by_cost, growth, lines_run
from tests.table import table

NOW = Instant(1_760_000_000.0)


def read(body: bytes, limits: ReadLimits | None = None, content_type: str | None = None) -> tuple[list[Entry], Outcome]:
    entries: list[Entry] = []
    reading = read_list(body, NOW, content_type=content_type, limits=limits or ReadLimits())
    while True:
        try:
            entries += next(reading).entries
        except StopIteration as end:
            return entries, end.value


def urls(body: bytes, limits: ReadLimits | None = None) -> list[str | None]:
    return [entry.url for entry in read(body, limits)[0]]


def urlset(*items: str) -> bytes:
    inside = "".join(f"<url>{item}</url>" for item in items)
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}</urlset>'.encode()
    )


def locations(number: int) -> bytes:
    return urlset(*(f"<loc>http://h.test/{i}</loc>" for i in range(number)))


# --- SM-03 to SM-05: size --------------------------------------------------------------------------


def test_of_too_many_entries_the_first_are_used_and_the_rest_is_counted() -> None:
    entries, outcome = read(locations(500), ReadLimits(max_entries=120))

    assert [entry.url for entry in entries] == [f"http://h.test/{i}" for i in range(120)]
    assert (outcome.entries, outcome.dropped, outcome.fault) == (120, 380, Fault.LIMIT)


def test_as_many_entries_as_are_allowed_are_no_fault() -> None:
    _, outcome = read(locations(120), ReadLimits(max_entries=120))

    assert (outcome.entries, outcome.dropped, outcome.fault) == (120, 0, None)


def test_a_file_is_cut_at_its_size_and_what_came_before_counts() -> None:
    body = locations(10_000)
    entries, outcome = read(body, ReadLimits(max_bytes=100_000))

    assert outcome.fault is Fault.LIMIT and outcome.read_bytes == 100_000
    assert 100_000 / 40 < len(entries) < 100_000 / 30
    assert entries == read(body)[0][: len(entries)]


@pytest.mark.parametrize("layers", [1, 2])
def test_a_packed_bomb_costs_no_more_than_the_limit(layers: int) -> None:
    bomb = urlset("<loc>http://h.test/first</loc>").removesuffix(b"</urlset>") + b" " * (64 << 20)
    body = gzip.compress(bomb, 1)
    del bomb
    if layers == 2:
        body = gzip.compress(body)
    tracemalloc.start()
    entries, outcome = read(body, ReadLimits(max_bytes=10 << 20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [entry.url for entry in entries] == ["http://h.test/first"]
    assert outcome.fault is Fault.LIMIT and outcome.read_bytes == 10 << 20
    assert peak < 6 << 20


def test_three_layers_of_packing_are_one_too_many() -> None:
    body = gzip.compress(gzip.compress(gzip.compress(locations(3))))

    entries, outcome = read(body)

    assert entries == [] and outcome.fault is not None


def test_a_file_of_several_gzip_members_is_one_file() -> None:
    body = locations(3000)

    assert urls(gzip.compress(body[:50_000]) + gzip.compress(body[50_000:])) == urls(body)


def test_a_packed_file_that_is_cut_off_gives_what_it_holds() -> None:
    body = gzip.compress(locations(3000))
    entries, outcome = read(body[: len(body) // 2])

    assert outcome.fault is Fault.BAD_PACKING
    assert 0 < len(entries) < 3000
    assert entries == read(locations(3000))[0][: len(entries)]


# --- SM-06, SM-07: entities ------------------------------------------------------------------------


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


def test_entities_that_would_expand_to_gigabytes_end_the_reading_at_once() -> None:
    body = f'<!DOCTYPE urlset [<!ENTITY l0 "lol">{LAUGHS}]><urlset><url><loc>&l9;</loc></url></urlset>'.encode()

    entries, outcome = read(body)

    assert entries == [] and outcome.fault is Fault.BAD_XML and "'l1'" in str(outcome.detail)
    assert lines_run(lambda: read(body)) < 1000


def test_a_long_entity_named_often_is_a_bomb_too() -> None:
    body = f'<!DOCTYPE urlset [<!ENTITY a "{"x" * 100_000}">]><urlset t="{"&a;" * 50_000}"/>'.encode()

    assert read(body)[1].fault is Fault.BAD_XML
    assert lines_run(lambda: read(body)) < 1000


def test_external_and_unknown_entities_are_left_out_and_neighbours_are_unharmed() -> None:
    body = b"""<!DOCTYPE urlset SYSTEM "http://sentinel.test/x.dtd" [<!ENTITY file SYSTEM "file:///etc/passwd">]>
        <urlset><url><loc>http://h.test/a&file;</loc></url><url><loc>http://h.test/b&nbsp;c&amp;d&#101;</loc></url>
        </urlset>"""

    assert urls(body) == ["http://h.test/a", "http://h.test/bc&de"]


def test_a_parameter_entity_is_never_read() -> None:
    body = b"""<!DOCTYPE urlset [<!ENTITY % x SYSTEM "http://sentinel.test/x.dtd"> %x;]>
        <urlset><url><loc>http://h.test/a</loc></url></urlset>"""

    assert urls(body) == ["http://h.test/a"]


# --- SM-09, SM-10: values --------------------------------------------------------------------------


def test_locations_are_trimmed_and_decoded_and_empty_ones_are_dropped() -> None:
    body = urlset(
        "<loc>\n  http://h.test/a \n</loc>",
        "<loc></loc>",
        "<loc/>",
        "<lastmod>2024-01-01</lastmod>",
        "<loc><![CDATA[http://h.test/?a=1&b=2]]></loc>",
        "<loc>http://h.test/?a=1&amp;b=2</loc>",
        "<loc>javascript:alert(1)</loc>",
    )
    entries, outcome = read(body)

    assert [entry.url for entry in entries] == [
        "http://h.test/a",
        "http://h.test/?a=1&b=2",
        "http://h.test/?a=1&b=2",
        "javascript:alert(1)",  # the filter's business
    ]
    assert outcome.dropped == 3 and outcome.fault is None


@pytest.mark.parametrize("date", ["2024-13-45", "yesterday", "9999-01-01", "0001-01-01", "1" * 1_000_000, "", "-1"])
def test_a_date_that_cannot_be_is_ignored_and_the_url_kept(date: str) -> None:
    (entry,), outcome = read(urlset(f"<loc>http://h.test/</loc><lastmod>{date}</lastmod>"))

    assert entry == Entry("http://h.test/") and outcome.fault is None


@table("priority", ["NaN", "1e400", "-1", "1.5", "high", "inf", "0x1", "", "1" * 100_000])
def test_a_priority_that_cannot_be_is_ignored_and_the_url_kept(priority: str) -> None:
    (entry,), _ = read(urlset(f"<loc>http://h.test/</loc><priority>{priority}</priority>"))

    assert entry == Entry("http://h.test/")


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("1.0", 1.0), ("0.80", 0.8), (".5", 0.5), (" 0 ", 0.0)])
def test_a_priority_is_a_number_from_0_to_1(text: str, value: float) -> None:
    (entry,), _ = read(urlset(f"<loc>http://h.test/</loc><priority>{text}</priority>"))

    assert entry.priority == value


def test_only_the_words_of_the_protocol_are_frequencies() -> None:
    body = urlset(*(f"<loc>http://h.test/</loc><changefreq>{word}</changefreq>" for word in (" Daily ", "often", "")))

    assert [entry.changefreq for entry in read(body)[0]] == ["daily", None, None]


def test_a_location_beyond_all_bounds_is_dropped_and_its_neighbour_kept() -> None:
    long = "http://h.test/" + "x" * 1_000_000
    entries, outcome = read(urlset(f"<loc>{long}</loc>", "<loc>http://h.test/b</loc>"))

    assert [entry.url for entry in entries] == ["http://h.test/b"] and outcome.dropped == 1


# --- SM-11: damage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [b"</urlset>", b"<url", b"<url><lo", b"<url><loc>http://h.test/half"])
def test_a_file_cut_off_gives_the_entries_before_the_cut(cut: bytes) -> None:
    whole = locations(2)
    entries, outcome = read(whole.removesuffix(b"</urlset>") + (cut if cut != b"</urlset>" else b""))

    assert [entry.url for entry in entries] == ["http://h.test/0", "http://h.test/1"]
    assert outcome.fault is Fault.BAD_XML and outcome.kind is ListKind.URLSET


def test_an_entry_whose_location_is_whole_survives_a_cut_behind_it() -> None:
    body = b"<urlset><url><loc>http://h.test/a</loc><lastmod>2024-0"

    assert read(body)[0] == [Entry("http://h.test/a")]


def test_invalid_utf8_ends_the_reading_and_what_came_before_counts() -> None:
    entries, outcome = read(urlset("<loc>http://h.test/a</loc>", "<loc>http://h.test/@</loc>").replace(b"@", b"\xff"))

    assert [entry.url for entry in entries] == ["http://h.test/a"] and outcome.fault is Fault.BAD_XML


@pytest.mark.parametrize("body", [b"<html><body>404</body></html>", b"", b"   ", b"\0\1\2", b"<", b"{}", b"\x1f\x8b"])
def test_what_is_no_list_is_said_to_be_none(body: bytes) -> None:
    entries, outcome = read(body)

    assert entries == [] and outcome.kind is ListKind.UNKNOWN and outcome.fault is not None


@by_cost
def test_a_tag_that_does_not_end_is_given_up_after_work_that_grows_with_its_size_alone(cost: Cost) -> None:
    body = b"<urlset><url><loc>http://h.test/a</loc></url><url a='" + b"x" * (20 << 20)
    entries, outcome = read(body)

    assert [entry.url for entry in entries] == ["http://h.test/a"] and outcome.fault is Fault.LIMIT
    assert growth(cost, lambda size: read(body[:size]), 2 << 20) < 25


def test_elements_within_elements_without_end_are_given_up() -> None:
    entries, outcome = read(b"<urlset><url><loc>http://h.test/a</loc></url><url>" + b"<a>" * 100_000)

    assert [entry.url for entry in entries] == ["http://h.test/a"] and outcome.fault is Fault.LIMIT


# --- encodings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "codec"), [("windows-1251", "cp1251"), ("Shift_JIS", "shift_jis"), ("ISO-8859-1", "cp1252")]
)
def test_a_declared_encoding_is_used(label: str, codec: str) -> None:
    letter = {"cp1251": "ж", "shift_jis": "語", "cp1252": "é"}[codec]
    body = f'<?xml version="1.0" encoding="{label}"?><urlset><url><loc>http://h.test/{letter}</loc></url></urlset>'

    assert urls(body.encode(codec)) == [f"http://h.test/{letter}"]


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_marks_and_wide_letters_are_understood(codec: str) -> None:
    body = '<?xml version="1.0"?><urlset><url><loc>http://h.test/é</loc></url></urlset>'

    assert urls(body.encode(codec)) == ["http://h.test/é"]


def test_a_label_never_reaches_pythons_codecs() -> None:
    assert urls(b'<?xml version="1.0" encoding="rot13"?><urlset><url><loc>http://h.test/a</loc></url></urlset>') == [
        "http://h.test/a"
    ]


def test_blank_lines_before_the_declaration_do_no_harm() -> None:
    assert len(urls(b"\n \r\n" + locations(2))) == 2


# --- text ------------------------------------------------------------------------------------------


def test_lines_that_are_no_urls_are_passed_over() -> None:
    entries, outcome = read(b"# our pages\r\nhttp://h.test/a\r\n\r\n  https://h.test/b  \r\nnonsense\nHTTP://h.test/c")

    assert [entry.url for entry in entries] == ["http://h.test/a", "https://h.test/b", "HTTP://h.test/c"]
    assert outcome.kind is ListKind.TEXT and outcome.fault is None


def test_a_line_across_slices_is_one_line() -> None:
    body = b"".join(b"http://h.test/%06d\n" % i for i in range(20_000))

    assert urls(body) == [f"http://h.test/{i:06}" for i in range(20_000)]


def test_a_line_without_end_is_dropped_and_the_next_is_read() -> None:
    entries, outcome = read(b"http://h.test/" + b"x" * 100_000 + b"\nhttp://h.test/b\n")

    assert [entry.url for entry in entries] == ["http://h.test/b"] and outcome.dropped == 1


# --- feeds -----------------------------------------------------------------------------------------


def test_an_rss_item_gives_its_link_its_date_and_its_enclosure() -> None:
    body = b"""<rss version="0.91"><channel><link>http://h.test/</link><item><title>a &nbsp; b</title>
        <link>http://h.test/a</link><pubDate>Sun, 06 Sep 2009 16:20:00 +0000</pubDate>
        <enclosure url="http://h.test/a.mp3" length="1"/><description>&lt;a href="http://x.test/"&gt;</description>
        </item></channel></rss>"""
    entries, outcome = read(body)

    assert entries == [
        Entry(
            "http://h.test/a",
            any_date("2009-09-06T16:20:00Z"),
            related=(Related("alternate", "http://h.test/a"), Related("enclosure", "http://h.test/a.mp3")),
        )
    ]
    assert outcome.home == "http://h.test/" and outcome.kind is ListKind.RSS


def test_an_atom_entry_counts_from_its_last_change() -> None:
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><published>2020-01-01T00:00:00Z</published>
        <link href="/a"/><updated>2021-01-01T00:00:00Z</updated></entry></feed>"""
    (entry,), _ = read(body)

    assert (entry.url, entry.lastmod) == ("/a", any_date("2021-01-01"))


def test_xml_base_holds_for_what_is_within_it() -> None:
    body = b"""<feed xml:base="http://h.test/x/"><entry xml:base="y/"><link href="a"/></entry>
        <entry><link href="b"/></entry></feed>"""

    assert urls(body) == ["http://h.test/x/y/a", "http://h.test/x/b"]


def test_rss_1_has_its_items_beside_the_channel() -> None:
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <channel><link>http://h.test/</link></channel><item><link>http://h.test/a</link><dc:date>2020-02-02</dc:date>
        </item></rdf:RDF>"""
    (entry,), outcome = read(body)

    assert (entry.url, entry.lastmod, outcome.home) == ("http://h.test/a", any_date("2020-02-02"), "http://h.test/")


@pytest.mark.parametrize(
    ("content_type", "start", "feed"),
    [
        ("application/rss+xml; charset=utf-8", b"", True),
        ("application/atom+xml", b"", True),
        ("text/xml", b"<?xml version='1.0'?><!-- x --><rss version='2.0'>", True),
        ("application/xml", b"<rdf:RDF xmlns:rdf='x'>", True),
        ("application/xml", b"<urlset>", False),
        ("text/html", b"<rss>", False),
        (None, b"<rss>", False),
    ],
)
def test_a_feed_is_told_by_its_type_or_by_its_first_element(content_type: str | None, start: bytes, feed: bool) -> None:
    assert is_feed(content_type, start) is feed


# --- any way of cutting ----------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 400), st.integers(0, 60))
def test_whatever_is_cut_off_the_entries_before_are_those_of_the_whole(cut: int, more: int) -> None:
    body = urlset(*(f"<loc>http://h.test/{i}</loc><lastmod>2024-01-01</lastmod>" for i in range(8)))
    whole, part = urls(body), urls(body[:cut] + b" " * more)

    assert part == whole[: len(part)]
