"""The shared cases for sitemaps and feeds: 43 documents, 13 dates, 4 locations and 30 feeds, none left out."""

import base64
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

import pytest

from gossamer.extract.sitemaps import Entry, Outcome, read_list
from gossamer.extract.sitemaps.entries import any_date, rfc822_date, w3c_date
from gossamer.model.units import Instant
from tests.conformance import shared_data
from tests.table import table

NOW = Instant(datetime(2026, 1, 1, tzinfo=UTC).timestamp())

Case = dict[str, Any]


def cases(file: str, key: str) -> list[Case]:
    return list(json.loads(shared_data(f"conformance/{file}").read_text("utf-8"))[key])


def read(body: bytes, content_type: str | None = None) -> tuple[list[Entry], Outcome]:
    entries: list[Entry] = []
    reading = read_list(body, NOW, content_type=content_type)
    while True:
        try:
            entries += next(reading).entries
        except StopIteration as end:
            return entries, end.value


def body_of(case: Case) -> bytes:
    if "document_base64" in case:
        return base64.b64decode(case["document_base64"])
    return str(case["document"]).encode()


SITEMAPS = cases("sitemaps/cases.json", "cases")


def given(value: object) -> float | None:
    return None if value is None else float(str(value))


@table("case", SITEMAPS)
def test_a_sitemap_is_read_as_the_shared_case_says(case: Case) -> None:
    expect = case["expect"]
    entries, outcome = read(body_of(case), case["content_type"])
    urls = [entry.url for entry in entries]

    if expect["kind"] in ("urlset-or-invalid", "invalid-or-partial"):
        assert urls in ([], [wanted["loc"] for wanted in expect["entries"]])
        return
    if expect["kind"] == "invalid":
        assert urls == [] and outcome.fault is not None
        return
    assert outcome.kind.value == expect["kind"]
    assert (outcome.fault is not None) == expect.get("partial", False)
    if "count" in expect:
        assert len(urls) == expect["count"] and set(expect["contains"]) <= set(urls)
        return
    assert urls == [wanted["loc"] for wanted in expect["entries"]]
    for entry, wanted in zip(entries, expect["entries"], strict=True):
        if "lastmod" in wanted:
            assert entry.lastmod == (None if wanted["lastmod"] is None else any_date(wanted["lastmod"]))
            assert (entry.lastmod is None) == (wanted["lastmod"] is None)
        if "changefreq" in wanted:
            assert entry.changefreq == wanted["changefreq"]
        if "priority" in wanted:
            assert entry.priority == given(wanted["priority"])
    for rel, key in (("image", "images"), ("alternate", "alternates")):
        if key in expect:
            related = [link.href for entry in entries for link in entry.related if link.rel == rel]
            assert list(dict.fromkeys(related)) == expect[key]


# CDF, a format of 1997, is not read.
FEEDS = [case for case in cases("feeds/feedparser-links.json", "cases") if "/cdf/" not in case["path"]]
_FIELD = re.compile(r"(?:(feed)|entries\[(\d+)\])\.(?:(link)|(links|enclosures)\[(\d+)\]\.href)").fullmatch


@table("case", FEEDS)
def test_a_feed_gives_the_links_that_the_shared_case_says(case: Case) -> None:
    base = case.get("headers", {}).get("Content-Location", case["document_url"])
    entries, outcome = read(str(case["document"]).encode(), "application/xml")

    assert outcome.fault is None
    for wanted in case["expect"]:
        field = _FIELD(wanted["field"])
        assert field is not None
        of_feed, number, link, among, at = field.groups()
        if of_feed:
            found = outcome.home
        elif link:
            found = entries[int(number)].url
        else:
            related = entries[int(number)].related
            kept = [each for each in related if among == "links" or each.rel == "enclosure"]
            found = kept[int(at)].href
        assert found is not None and urljoin(base, found) == wanted["value"]


def moment(text: str | None) -> float | None:
    if text is None:
        return None
    date = datetime.fromisoformat(text)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


@table("case", cases("sitemaps/dates.json", "w3c"))
def test_a_w3c_date_is_the_moment_that_the_shared_case_says(case: Case) -> None:
    assert w3c_date(case["input"]) == pytest.approx(moment(case["utc"]))


@pytest.mark.parametrize("case", cases("sitemaps/dates.json", "rss"), ids=lambda case: case["input"])
def test_a_feeds_date_is_the_moment_that_the_shared_case_says(case: Case) -> None:
    assert rfc822_date(case["input"]) == moment(case["utc"])
