"""Changed limits on queued URLs: they leave the frontier at once, and the store excludes them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from gossamer.crawl.counters import CrawlState
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.observers import CrawlObserver
from gossamer.model.batch import Batch, BulkChange, Committed
from gossamer.model.states import UrlState
from gossamer.model.task import Task
from gossamer.model.units import HostId, HostKey, Instant

LIMIT_REASONS: Final = ("depth_limit", "url_too_long", "excluded_domain")
"""Reasons for exclusion by limits: these URLs are requeued when the limits allow them."""


class LimitEnforcement(CrawlObserver):
    """Keeps URLs that the limits exclude out of the frontier, once limits have changed during a run.

    A URL is excluded either here or by its visit, never by both, or it would be counted twice: every URL in memory is
    removed from the frontier first, and URLs in flight are left to their visits. The store checks the state of a URL
    again when it applies the change. A URL whose exclusion is not committed yet stays out even if other limits, which
    allow it, come into force meanwhile: after the commit it is requeued. Owned by the event loop.
    """

    def __init__(self, state: CrawlState, admission: Admission) -> None:
        self._frontier, self._store = state.frontier, state.store
        self._admission = admission
        self._is_active = False
        self._in_open_batch: set[int] = set()  # URLs that it excludes, and ...
        self._in_commit: set[int] = set()  # ... those that the batch before it excludes
        self.excluded = 0  # URLs excluded since the last change of limits

    def reason_against(self, task: Task, host: HostKey) -> str | None:
        """Which limit excludes a queued URL. Recrawls are left to their visits, which settle more than a state."""
        if task.previous is not None and task.previous.state is not UrlState.QUEUED:
            return None
        reason = self._admission.rules_of(task).may_enter(task.url, host, task.depth)
        return reason if reason in LIMIT_REASONS else None

    def start(self) -> frozenset[int]:
        """The limits have changed. Returns the URLs that must be left to their visits."""
        self._is_active = True
        self.excluded = 0
        self._withdraw(None)
        return frozenset(self._frontier.unfinished())

    def on_host_added(self, host_id: HostId) -> None:
        """URLs of a host were loaded, perhaps from a time before the store excluded them."""
        if self._is_active:
            self._withdraw(host_id)

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self._in_commit, self._in_open_batch = self._in_open_batch, set()

    def committed(self, committed: Committed) -> None:
        self._in_commit = set()
        self.excluded += len(committed.withdrawn)

    def _withdraw(self, host_id: HostId | None) -> None:
        reasons: dict[int, str] = {}

        def is_refused(task: Task, host: HostKey) -> bool:
            if task.url_id in self._in_commit or task.url_id in self._in_open_batch:
                return True
            reason = self.reason_against(task, host)
            if reason is not None:
                reasons[task.url_id] = reason
            return reason is not None

        self._frontier.withdraw(is_refused, host_id)
        if reasons:
            self._in_open_batch |= reasons.keys()
            self._store.batch.bulk_changes += exclusions(reasons.items())
            self._store.nudge()


def exclusions(reasons: Iterable[tuple[int, str]]) -> list[BulkChange]:
    """The changes that exclude queued URLs, from pairs of id and reason."""
    by_reason: defaultdict[str, list[int]] = defaultdict(list)
    for url_id, reason in reasons:
        by_reason[reason].append(url_id)
    return [
        BulkChange(tuple(url_ids), UrlState.QUEUED, UrlState.EXCLUDED, to_reason=reason)
        for reason, url_ids in by_reason.items()
    ]
