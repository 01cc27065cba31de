"""Rules that override scores, through the real frontier and the real store, against brute force: from the beginning,
and changed in the middle of a crawl."""

import pytest

from gossamer.backends.memory import MemoryTables
from gossamer.frontier.decisions import Idle
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.orderings.class_rules import PriorityClass, PriorityRule, PriorityRules
from gossamer.model.batch import Batch
from gossamer.model.task import Visit
from tests.contracts.test_whole_orders import MODELS, DepthFirst, Model, OneSlot, Web, host_of, random_web

HIGH, LOW = PriorityClass.HIGH, PriorityClass.LOW
CHANGE_AT = 25
"""Pages after which the rules change."""


def rules_of(web: Web, *named: tuple[str, PriorityClass]) -> PriorityRules:
    """Rules for the hosts that have these numbers among those of the web."""
    hosts = sorted({host_of(url) for url in web.urls})
    return PriorityRules(
        [PriorityRule(f"{at}: {level}", level, hosts[int(at) % len(hosts)]) for at, level in named]
        + [PriorityRule("papers: low", LOW, None, lambda url: ".pdf" in url)]
    )


class Crawl(OneSlot):
    """Changes the rules after some pages."""

    def __init__(self, web: Web, ordering: Ordering, later: PriorityRules) -> None:
        super().__init__(web, MemoryTables(), ordering)
        self.later, self.count = later, 0

    def fetched(self, visit: Visit, page: int) -> Batch:
        batch = super().fetched(visit, page)
        self.count += 1
        if self.count == CHANGE_AT:
            assert self.store.ordering.use_rules(self.later, running=True)
            batch.reorder_after = 0
        return batch


def ruled(kind: type[Model], web: Web, first: PriorityRules, later: PriorityRules) -> list[int]:
    """The order of a model in which the rank by a rule comes before the score."""

    class Ruled(kind):  # type: ignore[misc, valid-type]
        def rank(self, page: int) -> int:
            rule = (first if len(self.done) < CHANGE_AT else later).rule_for(self.web.urls[page])
            return 0 if rule is None else {HIGH: 1, LOW: -1}[rule.level]

        def choose(self) -> int:
            waiting: list[int] = self.waiting
            if kind is DepthFirst:
                host = host_of(self.web.urls[self.done[-1]]) if self.done else None
                here = [page for page in waiting if host_of(self.web.urls[page]) == host]
                return max(here or waiting, key=lambda page: (self.rank(page), waiting.index(page)))
            return max(waiting, key=lambda page: (self.rank(page), self.score(page), -waiting.index(page)))

    model: Model = Ruled(web)
    return model.run()


@pytest.mark.parametrize("order", [order for order in MODELS if order == "bfs" or ORDERINGS[order]().by_score])
def test_by_score_the_class_of_a_rule_comes_before_the_score_also_when_rules_change(order: str) -> None:
    for seed in range(3):
        web = random_web(seed, pages=70)
        first, later = rules_of(web, ("1", HIGH), ("2", LOW)), rules_of(web, ("0", HIGH), ("1", LOW))
        ordering = ORDERINGS[order]()
        ordering.use_rules(first)

        crawled = Crawl(web, ordering, later).run()

        assert crawled == ruled(MODELS[order], web, first, later), f"seed {seed}"


def test_by_class_a_url_waits_in_the_front_queue_of_its_rule_and_none_is_lost() -> None:
    for seed in range(3):
        web = random_web(seed, pages=70)
        first, later = rules_of(web, ("1", HIGH), ("2", LOW)), rules_of(web, ("0", HIGH), ("1", LOW))
        ordering = ORDERINGS["mercator"]()
        ordering.use_rules(first)
        crawl = Crawl(web, ordering, later)
        ends = {HIGH: 0, LOW: ordering.fronts - 1}
        order: list[int] = []

        while True:
            crawl.settle()
            turn = crawl.frontier.next_turn(crawl.store.now)
            if isinstance(turn, Idle):
                break
            assert isinstance(turn, Visit)
            rule = ordering.rules.rule_for(turn.task.url)
            assert rule is None or turn.task.front == ends[rule.level], turn.task.url
            page = int(turn.task.fingerprint)
            order.append(page)
            crawl.frontier.count_visit(turn)
            crawl.frontier.finish(turn, None, crawl.store.now)
            crawl.commit(crawl.fetched(turn, page))
        crawl.store.close()

        assert sorted(order) == sorted(crawl.met), f"seed {seed}"


def test_other_rules_are_other_settings_so_that_a_restart_reorders_the_queue() -> None:
    web = random_web(7, pages=70)
    first, second = ORDERINGS["novelty"](), ORDERINGS["novelty"]()
    second.use_rules(rules_of(web, ("0", HIGH)))

    assert first.queue_settings == first.settings
    assert second.queue_settings != first.queue_settings
    assert not ORDERINGS["bfs"]().use_rules(second.rules, running=True)
