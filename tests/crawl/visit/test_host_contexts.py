"""Stored robots.txt answers, as a host context restores them."""

import pytest

from gossamer.crawl.visit.host_context import HostContexts, is_current
from gossamer.model.batch import RobotsRecord
from gossamer.model.units import HostId, Instant, Origin

ORIGIN = Origin("http://a.test")


def robots(status: int, body: bytes = b"") -> RobotsRecord:
    return RobotsRecord(ORIGIN, HostId(1), status, Instant(100.0), Instant(900.0), body)


@pytest.mark.parametrize("status", [200, 301, 308, 404])
def test_an_answer_that_opened_a_host_opens_it_after_a_restart(status: int) -> None:
    answer = HostContexts("gossamer").restored_answer(robots(status))

    assert not answer.closed
    assert answer.verdict("/page").allowed


def test_rules_that_were_stored_hold_after_a_restart_until_they_expire() -> None:
    answer = HostContexts("gossamer").restored_answer(robots(200, b"User-agent: *\nDisallow: /x"))

    assert not answer.verdict("/x/y").allowed
    assert is_current(answer, Instant(899.0))
    assert not is_current(answer, Instant(900.0))
