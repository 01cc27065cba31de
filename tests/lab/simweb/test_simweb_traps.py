"""Traps and large honest hosts of the simulated web."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from gossamer.errors import ConfigError
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.endless import STYLES
from gossamer.lab.simweb.traps import KINDS, MANY_HOSTS
from gossamer.lab.simweb.web import SimResponse, SimWeb
from gossamer.model.units import Instant

FINITE = {"sids", "orders", "referrers"}
"""Kinds with a few pages, under endless URLs."""


@pytest.fixture(scope="module")
def web() -> SimWeb:
    return SimWeb(preset("traps", large_pages=220))


def ask(web: SimWeb, url: str) -> SimResponse:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return web.respond(parts.hostname or "", target, Instant(1e9))


def links(web: SimWeb, url: str) -> Iterator[str]:
    response = ask(web, url)
    targets = [unescape(target) for target in re.findall("href=[\"']([^\"']+)", response.body.decode())]
    location = response.header("Location")
    yield from (urljoin(url, target) for target in (*targets, *([location] if location else [])))


def reached(web: SimWeb, start: str, most: int) -> set[str]:
    found = {start}
    queue = [start]
    for url in queue:
        for target in links(web, url):
            if target not in found and len(found) < most:
                found.add(target)
                queue.append(target)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_trap_has_more_urls_than_anybody_should_fetch(web: SimWeb, kind: str) -> None:
    home = f"{web.endless.base_of(web.endless.trap_host(kind))}/"

    found = reached(web, home, 1_100)

    assert len(found) == 1_100 or kind in FINITE
    assert all(web.endless.kind_of(urlsplit(url).hostname or "") == ("trap", kind) for url in found)


@pytest.mark.parametrize("kind", STYLES)
def test_every_page_of_a_large_host_is_within_reach_and_says_something_else(web: SimWeb, kind: str) -> None:
    host = web.endless.large_host(kind)
    wanted = web.endless.honest_urls()[host]

    found = reached(web, f"{web.endless.base_of(host)}/", 10_000)

    assert found == wanted
    answers = [ask(web, url) for url in found]
    assert len({answer.body for answer in answers}) == len(found)
    assert {answer.status for answer in answers} == {200}


def test_the_same_request_has_the_same_answer_in_every_web_of_one_configuration(web: SimWeb) -> None:
    again = SimWeb(web.config)
    for kind in KINDS:
        home = f"{web.endless.base_of(web.endless.trap_host(kind))}/"
        for url in sorted(reached(web, home, 20)):
            assert ask(web, url) == ask(again, url)


def test_every_name_below_a_domain_of_endless_hosts_has_an_address_and_no_other_name_has(web: SimWeb) -> None:
    for kind in MANY_HOSTS:
        assert web.address_of(f"anything.trap-{kind}.test") is not None
    assert web.address_of("anything.trap-calendar.test") is None
    assert web.address_of("trap-nothing.test") is None


def test_other_webs_have_none_of_them() -> None:
    web = SimWeb(preset("demo"))

    assert web.endless.seeds() == ()
    assert web.address_of("trap-calendar.test") is None


def test_kinds_are_words() -> None:
    with pytest.raises(ConfigError, match="trap_kinds"):
        preset("traps", trap_kinds="calendar,no way")
