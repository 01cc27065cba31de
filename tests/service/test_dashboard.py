"""The dashboard's files agree with each other, with the service and with the policy they are served with."""

import re
from typing import get_args

from gossamer.observe.snapshot import StateOfCrawl
from gossamer.service.access import HEADERS, LOGIN, LOGIN_FILES, LOGOUT
from gossamer.service.app import FILES, FOLDER, description, file_at
from gossamer.service.login import login_page

TEXTS = {path: file_at(path)[0].decode() for path in FILES}
PAGE = TEXTS["/"]
LOGIN_PAGE = login_page().decode()
SCRIPTS = {path: text for path, text in TEXTS.items() if path.endswith(".js")}
SCRIPT = "\n".join(SCRIPTS.values())


def test_every_file_of_the_page_is_served_and_nothing_else() -> None:
    assert {*FILES.values(), "login.html"} == {each.name for each in FOLDER.iterdir()}
    assert set(re.findall(r'\b(?:src|href)="([^"]+)"', LOGIN_PAGE)) == LOGIN_FILES


def test_the_page_needs_nothing_from_elsewhere() -> None:
    named = re.findall(r'\b(?:src|href)="([^"#]+)"', PAGE)
    imported = re.findall(r'\bfrom "\./([^"]+)"', SCRIPT)

    assert set(named) <= {*FILES, *description()["paths"], "/openapi.json"}
    assert {f"/page/{name}" for name in imported} <= {*SCRIPTS}
    for text in TEXTS.values():
        # An address in a placeholder is shown, and a namespace is a name: neither is asked for.
        cleaned = re.sub(r'placeholder="[^"]*"|http://www\.w3\.org/2000/svg', "", text)
        assert re.search(r"https?://|[\"'(]//[a-z]+\.|@import|url\(", cleaned) is None


def test_the_page_keeps_to_the_policy_that_it_is_served_with() -> None:
    policy = dict(HEADERS)[b"content-security-policy"].decode()

    assert "script-src 'self'" in policy and "unsafe" not in policy
    for page in (PAGE, LOGIN_PAGE):
        assert re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=|<style", page) is None
    assert re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", SCRIPT) is None


def test_the_scripts_find_what_they_look_for() -> None:
    ids = re.findall(r'\bid="([^"]+)"', PAGE)
    sought = set(re.findall(r'(?:\$|onSubmit|tile)\("([^"]+)"', SCRIPT))
    routes = set(re.findall(r'["`](/[a-z]+(?:/[a-z]+)?)[?"`]', SCRIPT))

    assert len(ids) == len(set(ids)) and sought <= set(ids) and len(sought) > 40
    assert routes <= {*description()["paths"], LOGIN, LOGOUT} and len(routes) > 6


def test_every_link_within_the_page_leads_somewhere() -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', PAGE))

    assert set(re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', PAGE)) <= ids


def test_every_field_has_a_label_and_every_table_its_headings() -> None:
    fields = re.findall(r"<(?:input|textarea|select)\b", PAGE)
    within = re.findall(r"<label[^>]*>(?:(?!</label>).)*<(?:input|textarea|select)\b", PAGE, flags=re.DOTALL)

    assert len(fields) == len(within) > 4
    assert PAGE.count("<table>") == PAGE.count("<thead>") and 'lang="en"' in PAGE


def test_every_word_for_what_the_crawl_does_has_a_tone_that_the_style_knows() -> None:
    (table,) = re.findall(r"const TONES = \{(.*?)\};", SCRIPTS["/page/metrics.js"], flags=re.DOTALL)
    tones = {first or second: tone for first, second, tone in re.findall(r'(?:"([^"]+)"|(\w+)): "(\w+)"', table)}

    assert set(tones) == set(get_args(StateOfCrawl))
    assert all(f".pill.{tone}" in TEXTS["/page/style.css"] for tone in tones.values())
