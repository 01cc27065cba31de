"""The dashboard's files agree with each other, and need nothing from elsewhere."""

import re

from gossamer.service.app import description
from gossamer.service.dashboard import FILES, file_at
from gossamer.service.gate import HEADERS

TEXTS = {path: file_at(path)[0].decode() for path in FILES}


def test_the_page_needs_nothing_from_elsewhere() -> None:
    named = re.findall(r'(?:src|href)="([^"]*)"', TEXTS["/"])

    assert set(named) <= {*FILES, "data:,"} and len(named) == 3
    for text in TEXTS.values():
        assert re.search(r"https?://|//[a-z]+\.|@import", text) is None


def test_the_page_keeps_to_the_policy_that_it_is_served_with() -> None:
    policy = dict(HEADERS)[b"content-security-policy"].decode()

    assert "script-src 'self'" in policy and "unsafe" not in policy
    assert re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=|<style", TEXTS["/"]) is None
    assert re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", TEXTS["/page/main.js"]) is None


def test_the_script_finds_what_it_looks_for() -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', TEXTS["/"]))
    sought = set(re.findall(r'\$\("([^"]+)"\)|onsubmit\("([^"]+)"', TEXTS["/page/main.js"]))
    routes = set(re.findall(r'["`](/[a-z]+(?:/[a-z]+)?)', TEXTS["/page/main.js"]))

    assert {first or second for first, second in sought} <= ids
    assert {route for route in routes if route != "/hosts/"} <= {*description()["paths"]}


def test_every_field_has_a_label_and_every_table_its_headings() -> None:
    page = TEXTS["/"]
    fields = re.findall(r"<(?:input|textarea)\b", page)
    within = re.findall(r"<label>(?:(?!</label>).)*<(?:input|textarea)\b", page, flags=re.DOTALL)

    assert len(fields) == len(within) > 4
    assert page.count("<table>") == page.count("<thead>") and 'lang="en"' in page
