"""Pages granted to workers in advance, so that all of them together store no more than the limit of the crawl."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from gossamer.cluster.ports import Session
from gossamer.model.units import Epoch

T = TypeVar("T")


class FencedPages(Protocol):
    """The transactions of a worker, and the pages that it has stored in them (`fence.Fence` is one)."""

    @property
    def epoch(self) -> Epoch: ...

    @property
    def stored(self) -> int: ...

    def run(self, work: Callable[[], T]) -> T: ...


def next_grant(free: int, workers: int) -> int:
    """How many more pages one of `workers` workers may store: half of its part of what is free, so that the last pages
    are not granted to a worker that has none to fetch; at least one while there are any."""
    return max(min(free, max(1, free // (2 * workers))), 0)


class PageGrants:
    """What this worker may store. All changes are made under the lock of the crawl, in transactions of their own.

    What is free is the limit minus what living workers were granted and dead ones have stored: what a dead worker did
    not use is free again without anybody's doing. A worker may have stored more than it was granted, while there was no
    limit.
    """

    def __init__(self, session: Session, fence: FencedPages) -> None:
        self._session, self._fence = session, fence
        self.granted = 0
        """Pages that this worker may store in its life."""
        self._on_record = 0  # of these, in the table
        self.limited = True
        """Whether the crawl has a limit; assumed until it is known."""
        self.has_given_back = False
        """Whether pages were given back since the last `ask`."""

    def left(self, unsettled: int) -> bool:
        """Whether another visit may start. `unsettled` visits have been started and are not committed."""
        return not self.limited or self._fence.stored + unsettled < self.granted

    def ask(self) -> int:
        """Ask for more pages. Returns how many were added. Raises what `Fence.run` raises."""
        before = max(self.granted, self._fence.stored)
        self.granted, self.limited = self._fence.run(self._raise)
        self._on_record = self.granted
        self.has_given_back = False
        return self.granted - before

    def keep(self, unsettled: int) -> None:
        """When idle, before `give_back`, where visits are started: only what is stored or in progress."""
        self.granted = min(self.granted, self._fence.stored + unsettled)

    def on_limit_changed(self, unsettled: int) -> None:
        """The same; there may be a limit where there was none. Until the next `ask` no visit starts."""
        if self.limited:
            self.keep(unsettled)
        else:
            self.granted = self._fence.stored + unsettled
            self.limited = True

    def give_back(self) -> None:
        """Have others use what was not kept. Raises what `Fence.run` raises."""
        # Lowered only after this, `granted` would let a visit start for a page that another worker has got meanwhile.
        if self.granted < self._on_record:
            granted = self.granted
            self._fence.run(lambda: self._session.execute("set_grant", self._fence.epoch, granted))
            self._on_record = granted
            self.has_given_back = True

    def _raise(self) -> tuple[int, bool]:
        found = self._session.fetch_one("lock_crawl")
        assert found is not None, "a crawl has a row"
        _, max_pages = found
        if max_pages is None:
            return 0, False
        before = max(self.granted, self._fence.stored)
        self._session.execute("set_grant", self._fence.epoch, before)
        spoken_for, workers = self._session.fetch_one("pages_spoken_for") or (0, 1)
        granted = before + next_grant(max_pages - spoken_for, workers)
        self._session.execute("set_grant", self._fence.epoch, granted)
        return granted, True
