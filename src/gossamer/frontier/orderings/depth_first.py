"""`dfs`: stay on a host and its connection, the newest page first."""

from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.facts import UrlFacts


class DepthFirst(Ordering):
    """The newest URL of the host contacted last; while that has none or rests, the newest of all, and its host next."""

    name = "dfs"
    by_score = True
    stays = True

    def score(self, url: UrlFacts) -> float:
        return url.url_id
