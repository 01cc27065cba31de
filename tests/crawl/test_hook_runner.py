"""Hooks: what they receive, in which order, and that a failing or slow hook does no harm."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from gossamer.crawl.events import Outcome
from gossamer.crawl.hooks import MAX_BYTES, MAX_LOGGED_FAILURES, MAX_WAITING, Hook, HookRunner
from gossamer.crawl.page import Page
from gossamer.extract.main_text import TextExtractor
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds, Url


def stored(number: int, size: int = 10) -> Outcome:
    url = Url(f"http://a.test/{number}")
    response = Response(url, 200, b"", b"", bytes(size), {}, "192.0.2.1", Instant(0.0), Seconds(0.0))
    return Outcome(url, UrlState.STORED, Instant(0.0), 0, 200, None, None, None, response)


def dead(number: int) -> Outcome:
    url = Url(f"http://a.test/{number}")
    return Outcome(url, UrlState.DEAD, Instant(0.0), 0, None, "conn_refused", None, None, None)


class Recorder(Hook):
    """Records every call. Waits in `on_outcome` until it may continue."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def on_outcome(self, outcome: Outcome) -> None:
        assert self.may_go_on.wait(30)
        self.calls.append("outcome " + outcome.url[-1])

    def on_page(self, page: Page) -> None:
        self.calls.append("page " + page.url[-1])

    def close(self) -> None:
        self.calls.append("close")


class Broken(Hook):
    def on_outcome(self, outcome: Outcome) -> None:
        raise ValueError(outcome.url)

    def on_link(self, page_url: str, url: str) -> bool:
        raise ValueError(url)

    def close(self) -> None:
        raise ValueError("close")


class Picky(Hook):
    def on_link(self, page_url: str, url: str) -> bool | None:
        return False if "private" in url else None


class Reports:
    """What a runner reports back: failures of hooks, and that there is room again."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, str, str]] = []
        self.room = 0

    def failed(self, name: str, method: str, error: BaseException) -> None:
        self.failures.append((name, method, str(error)))

    def has_room(self) -> None:
        self.room += 1


def run_hooks(hooks: dict[str, Hook], act: Callable[[HookRunner], None]) -> tuple[HookRunner, Reports]:
    """Let `act` use a runner, then close it."""
    reports = Reports()

    async def main() -> HookRunner:
        runner = HookRunner(list(hooks.items()), reports.has_room, reports.failed, TextExtractor.FAST)
        act(runner)
        await runner.close()
        await asyncio.sleep(0)  # reports of the thread that came with the last call
        return runner

    return asyncio.run(main()), reports


def test_a_hook_receives_outcomes_in_order_and_a_page_after_its_outcome() -> None:
    hook = Recorder()

    def act(runner: HookRunner) -> None:
        for outcome in (stored(1), dead(2), stored(3)):
            runner.publish(outcome)

    run_hooks({"recorder": hook}, act)

    assert hook.calls == ["outcome 1", "page 1", "outcome 2", "outcome 3", "page 3", "close"]


def test_every_hook_receives_every_outcome() -> None:
    first, second = Recorder(), Recorder()

    run_hooks({"first": first, "second": second}, lambda runner: runner.publish(dead(1)))

    assert first.calls == second.calls == ["outcome 1", "close"]


def test_a_failing_hook_is_reported_and_the_others_are_called_all_the_same() -> None:
    after = Recorder()

    def act(runner: HookRunner) -> None:
        runner.publish(stored(1))
        runner.publish(dead(2))

    runner, reports = run_hooks({"broken": Broken(), "after": after}, act)

    assert after.calls == ["outcome 1", "page 1", "outcome 2", "close"]
    assert reports.failures == [
        ("broken", "on_outcome", "http://a.test/1"),
        ("broken", "on_outcome", "http://a.test/2"),
        ("broken", "close", "close"),
    ]
    assert runner.failures == 3


def test_only_the_first_failures_are_reported_but_all_are_counted() -> None:
    def act(runner: HookRunner) -> None:
        for number in range(MAX_LOGGED_FAILURES + 10):
            assert runner.may_enter("http://a.test/", f"http://a.test/{number}")

    runner, reports = run_hooks({"broken": Broken()}, act)

    assert len(reports.failures) == MAX_LOGGED_FAILURES
    assert runner.failures == MAX_LOGGED_FAILURES + 11  # and one of `close`


@pytest.mark.parametrize(("url", "admitted"), [("http://a.test/private/x", False), ("http://a.test/x", True)])
def test_a_hook_keeps_a_link_out_by_answering_false(url: str, admitted: bool) -> None:
    answers = []

    def act(runner: HookRunner) -> None:
        answers.append(runner.may_enter("http://a.test/", url))

    run_hooks({"recorder": Recorder(), "picky": Picky()}, act)

    assert answers == [admitted]


def test_a_hook_that_fails_does_not_keep_a_link_out() -> None:
    answers = []

    def act(runner: HookRunner) -> None:
        answers.append(runner.may_enter("http://a.test/", "http://a.test/x"))

    _, reports = run_hooks({"broken": Broken()}, act)

    assert answers == [True]
    assert reports.failures[0] == ("broken", "on_link", "http://a.test/x")


def test_a_runner_knows_whether_any_hook_decides_about_links() -> None:
    seen: list[bool] = []

    run_hooks({"recorder": Recorder()}, lambda runner: seen.append(runner.has_link_hooks))
    run_hooks({"picky": Picky()}, lambda runner: seen.append(runner.has_link_hooks))

    assert seen == [False, True]


def test_outcomes_that_a_slow_hook_has_not_received_yet_fill_the_runner() -> None:
    hook = Recorder()
    hook.may_go_on.clear()
    fills: list[tuple[float, float]] = []

    def act(runner: HookRunner) -> None:
        runner.publish(stored(1, size=MAX_BYTES // 2))
        fills.append((runner.saturation, runner.fill.saturation))
        for number in range(MAX_WAITING - 1):
            runner.publish(dead(number))
        fills.append((runner.saturation, runner.fill.saturation))
        hook.may_go_on.set()

    runner, reports = run_hooks({"recorder": hook}, act)

    assert fills == [(0.5, 0.5), (1.0, 1.0)]
    assert runner.saturation == 0.0
    assert reports.room == MAX_WAITING


def test_outcomes_are_dropped_at_once_where_no_hook_wants_them() -> None:
    fills: list[float] = []

    def act(runner: HookRunner) -> None:
        runner.publish(stored(1))
        fills.append(runner.saturation)

    _, reports = run_hooks({"picky": Picky()}, act)

    assert (fills, reports.room) == ([0.0], 0)
