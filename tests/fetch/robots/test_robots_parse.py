"""Bytes to rules, by the cases of the hostile web (RB-..) and of RFC 9309."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.robots import parse_robots
from gossamer.fetch.robots.decision import LONGEST_DELAY, MAX_BYTES, MAX_SITEMAPS
from tests.table import table


def test_rb_07_the_first_500_kib_count_and_a_cut_line_is_dropped_whole() -> None:
    head = b"User-agent: *\nDisallow: /early\n"
    cut = b"Disallow: /cut-here-and-no-longer\n"
    filler = b"Disallow: /filler\n"
    before = head + filler * ((MAX_BYTES - len(head) - 20) // len(filler))
    before += b"#" * (MAX_BYTES - len(before) - 16) + b"\n"
    body = before + cut + filler * 4000 + b"Disallow: /late\n"

    rules = parse_robots(body, "gossamer")

    assert body[:MAX_BYTES].endswith(b"\nDisallow: /cut-")
    assert not rules.allows("/early")
    assert rules.allows("/late")
    assert rules.allows("/cut-here-and-no-longer")
    assert rules.allows("/cut-elsewhere"), "half a rule would close more than was meant"


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_line_that_ends_exactly_at_the_limit_is_whole(end: bytes) -> None:
    head, last = b"User-agent: *\n", b"Disallow: /last"
    body = head + b"#" * (MAX_BYTES - len(head) - len(last) - 1) + b"\n" + last + end + b"Disallow: /more"

    rules = parse_robots(body, "gossamer")

    assert not rules.allows("/last")
    assert rules.allows("/more")


def test_rb_08_what_was_read_of_an_endless_file_holds_but_for_its_last_line() -> None:
    body = b"User-agent: *\nDisallow: /a\nDisallow: /b"

    rules = parse_robots(body, "gossamer", truncated=True)

    assert not rules.allows("/a")
    assert rules.allows("/b")


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_rb_09_a_byte_order_mark_is_skipped(mark: bytes) -> None:
    assert not parse_robots(mark + b"User-agent: *\nDisallow: /\n", "gossamer").allows("/x")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_rb_10_utf_16_is_understood(encoding: str, mark: str) -> None:
    body = (mark + "User-agent: *\nDisallow: /private\n").encode(encoding)

    rules = parse_robots(body, "gossamer")

    assert not rules.allows("/private")
    assert rules.allows("/public")


def test_rb_10_a_latin_1_byte_in_a_comment_harms_nothing() -> None:
    body = b"User-agent: *\n# Stra\xdfe\nDisallow: /private\nDisallow: /stra\xdfe\n"

    rules = parse_robots(body, "gossamer")

    assert not rules.allows("/private")
    assert not rules.allows("/stra%DFe")


def test_rb_11_cr_nul_and_very_many_lines_are_read() -> None:
    body = b"User-agent: *\r" + b"".join(b"Disallow: /x\0%d\r" % number for number in range(100_000))

    rules = parse_robots(body, "gossamer")

    assert 25_000 < len(rules) < 30_000
    assert not rules.allows("/x20000")
    assert not rules.allows("/x2999999"), "/x2999 begins it"
    assert rules.allows("/y")


@pytest.mark.parametrize("text", ["86400", "86400.0", "8.64e4"])
def test_rb_12_long_delays_are_reported_as_asked(text: str) -> None:
    assert delay_of(text) == 86400.0


@pytest.mark.parametrize("text", ["1e308", "1e999", "9" * 5000])
def test_rb_12_absurd_delays_stay_finite(text: str) -> None:
    assert delay_of(text) == LONGEST_DELAY


@table("text", ["-5", "NaN", "inf", "abc", "1,5", "", "0x10", "1_000", "٣", "+5", "10s", "1e"])
def test_rb_13_a_delay_that_is_no_number_is_ignored(text: str) -> None:
    assert delay_of(text) is None


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0), ("5 # s", 5.0)])
def test_decimal_delays_are_read(text: str, seconds: float) -> None:
    assert delay_of(text) == seconds


def delay_of(text: str) -> float | None:
    return parse_robots(f"User-agent: *\nCrawl-delay: {text}\nDisallow: /x\n".encode(), "gossamer").crawl_delay


def test_a_delay_belongs_to_the_agents_named_directly_before_it() -> None:
    body = b"User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nCrawl-delay: 2\nUser-agent: d\nDisallow: /x\n"

    assert [parse_robots(body, agent).crawl_delay for agent in "abcd"] == [1.0, 1.0, 2.0, None]
    assert [parse_robots(body, agent).allows("/x") for agent in "abcd"] == [False] * 4


def test_the_longest_of_several_delays_counts() -> None:
    body = b"User-agent: g\nCrawl-delay: 2\nDisallow: /a\nUser-agent: g\nCrawl-delay: 7\nCrawl-delay: 1\n"

    assert parse_robots(body, "g").crawl_delay == 7.0


def test_the_delay_of_everybody_is_not_ours_when_we_have_a_group() -> None:
    body = b"User-agent: *\nCrawl-delay: 9\nDisallow: /\nUser-agent: g\nDisallow:\n"

    rules = parse_robots(body, "g")

    assert rules.crawl_delay is None
    assert rules.allows("/")


def test_groups_of_one_agent_are_merged_and_names_are_compared_without_case() -> None:
    body = (
        b"User-agent: GOSSAMER/2.0\nDisallow: /a\nUser-agent: other\nDisallow: /b\nuser-AGENT: gossamer\nDisallow: /c\n"
    )

    rules = parse_robots(body, "Gossamer")

    assert [rules.allows(path) for path in ("/a", "/b", "/c")] == [False, True, False]


def test_a_name_that_only_begins_like_ours_is_not_ours() -> None:
    body = b"User-agent: goss\nDisallow: /\nUser-agent: gossamer-news\nDisallow: /\n"

    rules = parse_robots(body, "gossamer")

    assert rules.allows("/")
    assert not rules.group_found


def test_rules_before_any_agent_are_nobodys() -> None:
    assert parse_robots(b"Disallow: /\n", "gossamer").allows("/x")


def test_only_the_rules_that_apply_are_kept() -> None:
    others = b"".join(b"User-agent: bot%c\nDisallow: /%c\n" % (letter, letter) for letter in b"abcdefgh")

    rules = parse_robots(others + b"User-agent: *\nDisallow: /x\n" + others, "gossamer")

    assert len(rules) == 1


@table(
    "key",
    ["disallow", "DISALLOW", "Disallow ", " disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"],
)
def test_misspelt_rules_are_still_meant(key: str) -> None:
    assert not parse_robots(f"useragent: *\n{key}: /private\n".encode(), "gossamer").allows("/private")


def test_the_number_of_sitemaps_is_bounded() -> None:
    body = b"".join(b"Sitemap: /s%d.xml\n" % number for number in range(5000))

    assert len(parse_robots(body, "gossamer").sitemaps) == MAX_SITEMAPS


def test_a_comment_ends_a_line_but_not_its_number() -> None:
    body = b"# one\r\nUser-agent: * # two\r\n\r\nDisallow: /a#b # four\r\n"

    verdict = parse_robots(body, "gossamer").verdict("/a")

    assert verdict == (False, "Disallow: /a", 4)


@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_bytes_make_it_fail(body: bytes, path: str) -> None:
    rules = parse_robots(b"User-agent: *\nDisallow:" + body, "gossamer")

    rules.verdict("/" + path)
    assert rules.crawl_delay is None or math.isfinite(rules.crawl_delay)
