"""The orderings, one small class each, by name.

A policy hears what the crawl hears (`found`, `fetched`, a site rests or wakes) and answers one question (`best`). It
keeps what waits and what its formula needs, and never looks at the graph, so that it would do the same in a crawl.
Scores change while pages wait, exactly as the formulas say; `gossamer.simulate.best_first` makes that cheap.
"""

from collections.abc import Mapping

from gossamer.simulate.policies.balance import Balance
from gossamer.simulate.policies.importance import Importance
from gossamer.simulate.policies.mercator import Mercator
from gossamer.simulate.policies.novelty import Novelty
from gossamer.simulate.policies.ports import Policy, PolicyMaker, Setting
from gossamer.simulate.policies.queued import Backlink, BreadthFirst, DepthFirst, Omniscient
from gossamer.simulate.policies.shuffled import Shuffled

POLICIES: Mapping[str, PolicyMaker] = {
    "mercator": Mercator,
    "bfs": BreadthFirst,
    "dfs": DepthFirst,
    "novelty": Novelty,
    "balance": Balance,
    "importance": Importance,
    "backlink": Backlink,
    "random": Shuffled,
    "omniscient": Omniscient,
}

__all__ = ["POLICIES", "Policy", "PolicyMaker", "Setting"]
