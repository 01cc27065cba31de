"""Changed limits on queued URLs: they leave the frontier at once, and the store excludes them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from gossamer.crawl.counters import CrawlState
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.observers import CrawlObserver
from gossamer.model.batch import BulkChange, Committed
from gossamer.model.states import UrlState
from gossamer.model.task import Task
from gossamer.model.units import HostId, HostKey

LIMIT_REASONS: Final = ("depth_limit", "url_too_long", "excluded_domain")
"""Reasons for exclusion by limits: these URLs are requeued when the limits allow them."""


class LimitEnforcement(CrawlObserver):
    """Keeps URLs that the limits exclude out of the frontier, once limits have changed during a run.

    A URL is excluded either here or by its visit, never by both, or it would be counted twice: every URL in memory is
    removed from the frontier first, and URLs in flight are left to their visits. The store checks the state of a URL
    again when it applies the change. Owned by the event loop.
    """

    def __init__(self, state: CrawlState, admission: Admission) -> None:
        self._frontier, self._store = state.frontier, state.store
        self._admission = admission
        self._is_active = False
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

    def committed(self, committed: Committed) -> None:
        self.excluded += len(committed.withdrawn)

    def _withdraw(self, host_id: HostId | None) -> None:
        reasons: dict[int, str] = {}

        def is_refused(task: Task, host: HostKey) -> bool:
            reason = self.reason_against(task, host)
            if reason is not None:
                reasons[task.url_id] = reason
            return reason is not None

        self._frontier.withdraw(is_refused, host_id)
        if reasons:
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
