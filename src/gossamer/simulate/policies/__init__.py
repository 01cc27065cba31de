"""Who decides what is fetched next: the crawl's own orderings, and some to compare them with, by name.

A policy hears what the crawl hears (`found`, `fetched`, a site rests or wakes) and answers one question (`best`). It
keeps what waits and what its formula needs, and never looks at the graph, so that it would do the same in a crawl.

    knowledge            links, credit and visits, counted as the crawl's store counts them
    by_score, by_class   any ordering of `gossamer.frontier.orderings`, or of a user, as a policy
    push                 `importance` with all links kept: what a crawl could gain by that
    queued, shuffled     `backlink`, `omniscient` and `random`, which no crawl has
"""

from collections.abc import Callable, Mapping

from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.simulate.policies.by_class import ByClass
from gossamer.simulate.policies.by_score import ByScore
from gossamer.simulate.policies.ports import Policy, PolicyMaker, Setting
from gossamer.simulate.policies.push import Push
from gossamer.simulate.policies.queued import Backlink, Omniscient
from gossamer.simulate.policies.shuffled import Shuffled


def policy_of(make: Callable[[], Ordering]) -> PolicyMaker:
    """An ordering of the crawl as a policy that replays it."""

    def policy(setting: Setting) -> Policy:
        ordering = make()
        return ByScore(ordering, setting) if ordering.by_score else ByClass(ordering, setting)

    return policy


POLICIES: Mapping[str, PolicyMaker] = {
    **{name: policy_of(make) for name, make in ORDERINGS.items()},
    "push": Push,
    "backlink": Backlink,
    "random": Shuffled,
    "omniscient": Omniscient,
}

__all__ = ["POLICIES", "Policy", "PolicyMaker", "Setting", "policy_of"]
