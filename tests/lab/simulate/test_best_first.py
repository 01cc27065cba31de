"""The queue against a list that is searched from end to end."""

import random

from gossamer.lab.simulate.best_first import BestFirst


def test_ties_go_to_the_oldest_entry() -> None:
    queue = BestFirst([0, 1, 2])
    for page in (2, 0, 1):
        queue.add(page, 7)

    assert [queue.take() for _ in range(4)] == [2, 0, 1, None]


def test_a_page_that_is_lifted_keeps_its_age() -> None:
    queue = BestFirst([0, 0])
    queue.add(0, 1)
    queue.add(1, 5)

    queue.lift([0], 4)

    assert queue.take() == 0


def test_a_page_whose_score_changes_keeps_its_age() -> None:
    queue = BestFirst([0, 0, 1])
    for page in (0, 1, 2):
        queue.add(page, 5)

    queue.change(0, 4)
    queue.change(0, 5)

    assert [queue.take() for _ in range(3)] == [0, 1, 2]


def test_a_lift_passes_over_pages_that_do_not_wait() -> None:
    queue = BestFirst([0, 0])
    queue.add(0)

    queue.lift([1], 10)

    assert (1 in queue, len(queue), queue.take(), queue.take()) == (False, 1, 0, None)


def test_any_mixture_of_events_gives_the_order_of_a_plain_search() -> None:
    for number in range(60):
        chance = random.Random(number)
        pages, sites = 80, chance.randint(1, 6)
        site_of = [chance.randrange(sites) for _ in range(pages)]
        terms = [0] * sites
        queue = BestFirst(site_of, lambda site, terms=terms: terms[site])  # type: ignore[misc]
        model: dict[int, int] = {}  # in order of entry
        resting: set[int] = set()
        for _ in range(500):
            event = chance.random()
            page, site = chance.randrange(pages), chance.randrange(sites)
            if event < 0.3:
                if page not in model:
                    model[page] = chance.randrange(4)
                    queue.add(page, model[page])
            elif event < 0.4:
                if page in model:
                    model[page] += chance.randrange(-3, 4)
                    queue.change(page, model[page])
            elif event < 0.5:
                some = chance.sample(range(pages), 5)
                queue.lift(some, 1)
                model.update({page: model[page] + 1 for page in some if page in model})
            elif event < 0.6:
                terms[site] -= chance.randrange(3)  # nobody is told of a fall
            elif event < 0.7:
                terms[site] += chance.randrange(3)
                queue.raise_site(site)
            elif event < 0.75:
                resting.add(site)
                queue.rest(site)
            elif event < 0.8:
                resting.discard(site)
                queue.wake(site)
            else:
                ready = [page for page in model if site_of[page] not in resting]
                expected = max(ready, key=lambda page: model[page] + terms[site_of[page]], default=None)
                if event < 0.85:
                    assert (queue.first() is not None) is (expected is not None)
                assert queue.take() == expected, number
                if expected is not None:
                    del model[expected]
        assert len(queue) == len(model)
