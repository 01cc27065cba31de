"""Every case of the URL standard's test data against our parser, and urlcanon's inputs against the canonical form."""

import json
from contextlib import suppress
from typing import TypedDict, cast

import pytest
from ada_url import URL

from gossamer.filter.canonical import Canonical, canonicalise, parse
from gossamer.filter.links import with_encoded_query
from tests.conformance import shared_data


class UrlCase(TypedDict, total=False):
    input: str
    base: str | None
    href: str
    failure: bool


class HostCase(TypedDict):
    input: str
    output: str | None


class SetterCase(TypedDict):
    href: str
    new_value: str
    expected: dict[str, str]


def whatwg_cases(name: str) -> list[object]:
    """The objects of a web-platform-tests file, without its comments."""
    cases = json.loads(shared_data(f"conformance/url/{name}").read_text())
    return [case for case in cases if isinstance(case, dict)]


def serialised(text: str, base: str | None = None) -> str | None:
    try:
        return parse(text, base)
    except ValueError:
        return None


@pytest.mark.parametrize(("name", "count"), [("urltestdata.json", 891), ("urltestdata-javascript-only.json", 1)])
def test_every_url_is_parsed_as_the_standard_says(name: str, count: int) -> None:
    cases = cast(list[UrlCase], whatwg_cases(name))
    wrong = [
        (case["input"], case.get("base"), got, expected)
        for case in cases
        if (got := serialised(case["input"], case.get("base"))) != (expected := case.get("href"))
    ]

    assert len(cases) == count
    assert wrong == []


def test_every_http_url_of_the_standard_is_taken_or_refused_for_a_reason_of_ours() -> None:
    """What the standard rejects is refused; what it takes has the same host and path, escapes and userinfo apart."""
    for case in cast(list[UrlCase], whatwg_cases("urltestdata.json")):
        found = canonicalise(case["input"], case.get("base"))
        if case.get("failure"):
            assert not isinstance(found, Canonical), case
        elif isinstance(found, Canonical):
            parsed = URL(case["href"])
            assert found.host == parsed.hostname.removesuffix("."), case
            assert found == canonicalise(parsed.href), case


@pytest.mark.parametrize(("name", "count"), [("toascii.json", 87), ("IdnaTestV2.json", 2_670)])
def test_every_host_becomes_ascii_as_the_standard_says(name: str, count: int) -> None:
    cases = [case for case in cast(list[HostCase], whatwg_cases(name)) if case["input"]]
    wrong = []
    for case in cases:
        href = serialised(f"https://{case['input']}/x")
        got = None if href is None else URL(href).hostname
        if got != case["output"]:
            wrong.append((case["input"], got, case["output"]))

    assert len(cases) == count
    assert wrong == []


def test_every_setter_does_what_the_standard_says() -> None:
    tables = json.loads(shared_data("conformance/url/setters_tests.json").read_text())
    cases = [(attribute, case) for attribute, table in tables.items() if attribute != "comment" for case in table]
    for attribute, case in cast(list[tuple[str, SetterCase]], cases):
        url = URL(case["href"])
        with suppress(ValueError):  # the standard's setter ignores such a value
            setattr(url, attribute, case["new_value"])
        assert {name: getattr(url, name) for name in case["expected"]} == case["expected"], (attribute, case)
    assert len(cases) == 278


def test_every_query_is_escaped_in_the_encoding_of_its_document() -> None:
    checked = 0
    for case in whatwg_cases("percent-encoding.json"):
        assert isinstance(case, dict)
        for encoding, output in case["output"].items():
            href = parse(with_encoded_query("https://h.test/?" + case["input"], encoding))
            assert href == "https://h.test/?" + output, (case["input"], encoding)
            checked += 1
    assert checked == 16


def test_inputs_of_a_lossless_parser_have_a_form_that_stays() -> None:
    inputs = json.loads(shared_data("conformance/url/urlcanon-idempotence.json").read_text())
    assert len(inputs) == 43
    for text in inputs:
        found = canonicalise(text)
        if isinstance(found, Canonical):
            assert canonicalise(found.url) == found


def test_a_lossless_parser_sees_the_same_hosts() -> None:
    cases = json.loads(shared_data("conformance/url/urlcanon-parsing.json").read_text())
    assert len(cases) == 111
    compared = 0
    for text, parts in cases.items():
        found = canonicalise(text)
        if not isinstance(found, Canonical):
            continue
        compared += 1
        expected = canonicalise(f"http://{parts['host']}/") if parts["host"] else None
        assert isinstance(expected, Canonical), text
        assert found.host == expected.host, text
    assert compared > 30
