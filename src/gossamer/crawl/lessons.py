"""What the crawl learns from what came of its visits: which shapes are traps, which parameters choose nothing."""

from gossamer.crawl.budgets import Budgets
from gossamer.crawl.reading import Read
from gossamer.dedup.soft import SoftMissing
from gossamer.filter.canonical import taken_apart
from gossamer.filter.identity import Identities, Learnt
from gossamer.filter.learning import ParameterLearner
from gossamer.frontier.turns import Visit
from gossamer.model.task import HostRecord
from gossamer.store.changes import Batch, LearntParameter, Settlement


class Lessons:
    """Told of every request and of what came of it. All calls from the event loop; nothing waits.

    `budgets` and `learner` are None where the configuration wants none of it.
    """

    def __init__(self, identities: Identities, budgets: Budgets | None, learner: ParameterLearner | None) -> None:
        self._identities = identities
        self.budgets = budgets
        self._learner = learner
        self._out: dict[int, Visit] = {}  # visits that became requests and are not settled yet, by their URL's row
        self._news: list[LearntParameter] = []
        self.soft: SoftMissing | None = None  # set by the assembly; only remembered here

    def begin(self, record: HostRecord) -> None:
        """A host has got a back queue; this is what the store remembers."""
        if self.budgets is not None:
            self.budgets.begin(record)
        if self.soft is not None:
            self.soft.recall(record.host_id, record.soft_missing)

    def asked(self, visit: Visit) -> None:
        """The URL was asked for, and what came of it will be told to `settled`. From a page that we have nothing is
        learnt: that it brings nothing new is no wonder."""
        if visit.task.before is None or not visit.task.before.has_document:
            self._out[visit.task.url_id] = visit

    def settled(self, settlement: Settlement, read: Read | None = None) -> None:
        """What became of a URL; of a document, with what was read of it. Nothing is learnt where nothing was asked."""
        visit = self._out.pop(settlement.url_id, None)
        if visit is None:
            return
        if self.budgets is not None:
            self.budgets.settled(visit, settlement, read)
        if self._learner is not None and settlement.digest is not None and "?" in visit.task.url:
            self._learn(visit, settlement)

    def _learn(self, visit: Visit, settlement: Settlement) -> None:
        assert self._learner is not None and settlement.digest is not None
        url, host = visit.task.url, visit.host
        for news in self._learner.page(url, host, taken_apart(url, host).path_start, settlement.digest):
            if isinstance(news, Learnt):
                self._identities.learn(news)
                self._news.append(LearntParameter(*news, refuted=False))
            else:
                self._identities.unlearn(*news)
                self._news.append(LearntParameter(*news, 0, 0, refuted=True))

    def hand_over(self, batch: Batch) -> None:
        """Put what was learnt into a batch that is about to be committed."""
        if self.budgets is not None:
            self.budgets.hand_over(batch)
        if self._news:
            batch.parameters, self._news = self._news, []
        if self.soft is not None:
            batch.soft_missing = self.soft.take_changes()
