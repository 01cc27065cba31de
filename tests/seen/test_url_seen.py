"""The URL-seen test as a whole. Above all: no URL is ever lost."""

import random
from collections import deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.seen import Classified, SeenTest
from tests.examples import examples


def warm_test(*, capacity: int = 1_000, error_rate: float = 0.001, remember: int = 100) -> SeenTest:
    test = SeenTest(capacity=capacity, error_rate=error_rate, remember=remember)
    test.finish_warming()
    return test


def test_a_fingerprint_is_new_once_and_seen_ever_after() -> None:
    test = warm_test()

    assert test.classify([10, 20, 10]) == Classified(seen=[2], new=[0, 1], unsure=[])
    assert test.classify([20, 30]) == Classified(seen=[0], new=[1], unsure=[])


def test_before_the_filter_is_warm_the_store_is_asked_about_everything_once() -> None:
    test = SeenTest(capacity=1_000, remember=100)

    assert test.classify([10, 20, 10]) == Classified(seen=[2], new=[], unsure=[0, 1])
    assert test.classify([10]) == Classified(seen=[0], new=[], unsure=[])


def test_what_came_from_the_store_is_asked_and_the_rest_is_new_once_warm() -> None:
    test = SeenTest(capacity=1_000, remember=100)
    test.warm([10, 20])
    test.classify([30])
    test.finish_warming()

    assert test.classify([10, 30, 40]) == Classified(seen=[1], new=[2], unsure=[0])


def test_what_is_learned_is_seen() -> None:
    test = warm_test()

    test.add_known([10])

    assert test.classify([10, 11]) == Classified(seen=[0], new=[1], unsure=[])


def test_what_the_exact_memory_has_evicted_is_asked() -> None:
    test = warm_test(remember=10)
    test.classify([1])
    for value in range(100, 200):
        test.classify([value])

    assert test.classify([1]) == Classified(seen=[], new=[], unsure=[0])


def test_statistics_count_the_answers_of_each_tier() -> None:
    test = SeenTest(capacity=1_000, error_rate=0.01, remember=100)
    test.warm([10, 20])
    test.finish_warming()
    test.classify([10, 10, 30, 40])

    statistics = test.statistics()

    assert (statistics.seen, statistics.new, statistics.asked) == (1, 2, 1)
    assert (statistics.remembered, statistics.filter_keys) == (3, 4)
    assert statistics.filter_bytes > 1_000


def test_a_filter_wrong_half_of_the_time_asks_more_and_loses_nothing() -> None:
    rng = random.Random(5)
    test = warm_test(capacity=100, error_rate=0.5, remember=50)
    store: set[int] = set()
    offered: set[int] = set()

    for _ in range(400):
        batch = [rng.randrange(3_000) for _ in range(20)]
        offered.update(batch)
        verdict = test.classify(batch)
        assert not store.intersection(batch[index] for index in verdict.new)
        store.update(batch[index] for index in verdict.new + verdict.unsure)

    assert store == offered


class Crawl(RuleBasedStateMachine):
    """Batches go to the store in order and are committed, or lost in a crash; the store is the model.

    Small numbers, a tiny memory and a wretched filter, so that evictions, growth and false answers are common.
    """

    @initialize(error_rate=st.sampled_from([0.5, 0.01]), remember=st.integers(2, 8))
    def start(self, error_rate: float, remember: int) -> None:
        self.error_rate, self.remember = error_rate, remember
        self.store: set[int] = set()
        self.offered: set[int] = set()
        self.due: list[list[int]] = []  # links of pages that have to be visited again
        self.in_flight: deque[tuple[list[int], list[int]]] = deque()  # links of a page; those to insert
        self.restart()

    def restart(self) -> None:
        self.test = SeenTest(capacity=4, error_rate=self.error_rate, remember=self.remember)
        self.cursor: int | None = -1_000

    @rule(batch=st.lists(st.integers(-40, 40), max_size=8))
    def offer(self, batch: list[int]) -> None:
        self.offered.update(batch)
        verdict = self.test.classify(batch)
        on_its_way = {fingerprint for _, inserts in self.in_flight for fingerprint in inserts}
        entered = self.store | on_its_way

        assert sorted(verdict.seen + verdict.new + verdict.unsure) == list(range(len(batch)))
        assert all(batch[index] in entered or batch[index] in batch[:index] for index in verdict.seen)
        assert entered.isdisjoint(batch[index] for index in verdict.new)
        inserts = [batch[index] for index in verdict.new + verdict.unsure]
        assert len(set(inserts)) == len(inserts)
        self.in_flight.append((batch, inserts))

    @precondition(lambda self: self.in_flight)
    @rule()
    def commit(self) -> None:
        _, inserts = self.in_flight.popleft()
        self.store.update(inserts)

    @precondition(lambda self: self.due)
    @rule()
    def visit_again(self) -> None:
        self.offer(self.due.pop())

    @rule(size=st.integers(1, 10))
    def warm_up(self, size: int) -> None:
        """A chunk in the order of the keys, as a database reads it while others write."""
        if self.cursor is None:
            return
        chunk = sorted(key for key in self.store if key > self.cursor)[:size]
        if chunk:
            self.test.warm(chunk)
            self.cursor = chunk[-1]
        else:
            self.test.finish_warming()
            self.cursor = None

    @rule()
    def crash(self) -> None:
        self.due += [batch for batch, _ in self.in_flight]
        self.in_flight.clear()
        self.restart()

    @invariant()
    def nothing_is_lost(self) -> None:
        waiting = {fingerprint for batch in self.due for fingerprint in batch}
        on_its_way = {fingerprint for _, inserts in self.in_flight for fingerprint in inserts}
        assert self.offered <= self.store | on_its_way | waiting


TestCrawl = Crawl.TestCase
TestCrawl.settings = settings(examples(30), stateful_step_count=50)
