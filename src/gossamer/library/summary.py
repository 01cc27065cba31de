"""`Summary`: the result or the progress of a crawl, with the fields of `gossamer crawl --json`."""

from gossamer.observe.formatter import number_of
from gossamer.observe.report import headline
from gossamer.observe.snapshot import Snapshot, StopReason, to_contract


class Summary:
    """Counts of a crawl so far, those of earlier runs included. Every field of `gossamer crawl --json` is an attribute;
    `to_dict` has them all."""

    def __init__(self, snapshot: Snapshot, max_pages: int | None) -> None:
        self._fields = to_contract(snapshot)
        self._max_pages = max_pages
        self.headline: str = headline(snapshot, max_pages)
        """How the crawl ended, in a sentence."""
        self.stopped: StopReason | None = snapshot.stopped
        """Why the crawl ended; None while it runs."""
        self.finished: bool = snapshot.finished
        """Whether nothing is left to crawl."""
        self.pages: int = snapshot.pages
        self.run_pages: int = snapshot.run_pages
        """Pages stored since the crawl was started the last time."""
        self.fetched: int = snapshot.fetched
        self.queued: int = snapshot.queued
        self.bytes: int = snapshot.bytes
        self.errors: dict[str, int] = dict(snapshot.errors)
        """By reason."""

    def __getattr__(self, name: str) -> object:
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(f"a Summary has no field {name!r}; there are {', '.join(fields)}")
        return fields[name]

    def __repr__(self) -> str:
        counts = (
            f"{number_of(self.pages, 'page')}, {self.queued} queued, {number_of(sum(self.errors.values()), 'error')}"
        )
        return f"<Summary {self._end()}, {counts}>"

    def _end(self) -> str:
        if self.stopped is None or self.finished:
            return "finished" if self.finished else "running"
        limit = f" ({self._max_pages})" if self.stopped == "page_limit" and self._max_pages is not None else ""
        return f"stopped: {self.stopped.replace('_', ' ')}{limit}"

    def to_dict(self) -> dict[str, object]:
        """The object of `gossamer crawl --json`."""
        return dict(self._fields)
