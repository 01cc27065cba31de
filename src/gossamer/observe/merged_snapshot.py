"""The snapshots of several workers merged into one of the whole crawl."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import zip_longest
from typing import Any

from gossamer.model.queue_depth import QueueDepth
from gossamer.observe import formatter
from gossamer.observe.freshness import merge_freshness
from gossamer.observe.snapshot import (
    STALE_AFTER,
    Internals,
    ReadmissionCounts,
    SeedCounts,
    Snapshot,
    Status,
    StopReason,
)
from gossamer.observe.wait_reasons import Waits, waiting_for
from gossamer.sketch import Spread

_LARGEST = ("at", "elapsed", "loop_lag", "worst_loop_lag", "store_saturation")
_MOST_SLOW = 5


def merge_snapshots(snapshots: Sequence[Snapshot], *, finished: bool, stopped: StopReason | None = None) -> Snapshot:
    """One snapshot of the whole crawl: sums, maxima of some fields, and `any` of flags. There is at least one
    worker."""
    found: dict[str, object] = {}
    for name in (column.name for column in fields(Snapshot)):
        values = [getattr(snapshot, name) for snapshot in snapshots]
        if name in _LARGEST:
            found[name] = max(values)
        elif name in ("next_missing", "next_contact", "next_due"):
            found[name] = min((value for value in values if value is not None), default=None)
        elif isinstance(values[0], bool):
            found[name] = any(values)
        elif isinstance(values[0], int | float):
            found[name] = sum(values)
    high = next((snapshot for snapshot in snapshots if snapshot.load != "normal"), snapshots[0])
    drawn = _added(snapshot.drawn for snapshot in snapshots)
    found |= {
        "statuses": _counted(snapshot.statuses for snapshot in snapshots),
        "errors": _counted(snapshot.errors for snapshot in snapshots),
        "excluded": _counted(snapshot.excluded for snapshot in snapshots),
        "urls_by_front": _added(snapshot.urls_by_front for snapshot in snapshots),
        "drawn": drawn,
        "selector_shares": tuple(100.0 * n / sum(drawn) if sum(drawn) else 0.0 for n in drawn),
        "load": high.load,
        "load_reason": high.load_reason,
        "cache_problem": next((each.cache_problem for each in snapshots if each.cache_problem), ""),
        "slowest": tuple(sorted((s for m in snapshots for s in m.slowest), key=lambda s: -s[1])[:_MOST_SLOW]),
        "queues": _filled([snapshot.queues for snapshot in snapshots]),
        "freshness": merge_freshness([(snapshot.freshness, snapshot.pages) for snapshot in snapshots]),
        "internals": _all_internals([snapshot.internals for snapshot in snapshots]),
        "finished": finished,
        "stopped": stopped,
        "readmission": _all_readmissions([snapshot.readmission for snapshot in snapshots]),
        "seeds": _all_seeds([snapshot.seeds for snapshot in snapshots if snapshot.seeds is not None]),
    }
    found["delivering"] = all(snapshot.delivering for snapshot in snapshots)
    merged = Snapshot(**found)  # type: ignore[arg-type]
    return replace(merged, waiting_for=_waits(merged, snapshots))


_WHOLE = (
    *("pages", "fetched", "bytes", "discovered", "queued", "duplicates", "near_duplicates", "sitemaps", "sitemap_urls"),
    *("refreshed", "not_modified", "unchanged", "changed", "reported", "dead", "statuses", "errors", "excluded"),
    *("robots_fetched", "missing", "gone", "redirects", "hosts_known"),
)
"""Totals that each worker of a shared crawl knows of the whole crawl."""
_OF_ALL = ("paused", "stopping", "store_failing", "store_slow")
"""Of the crawl only if they are of every worker: the others go on."""


def whole_snapshot(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The snapshot of a crawl that workers share: each of them knows the totals of all, so the latest are taken; the
    rest is merged. What a worker that was killed has left behind does not count."""
    newest = max(snapshots, key=lambda snapshot: snapshot.at)
    recent = [snapshot for snapshot in snapshots if newest.at - snapshot.at < STALE_AFTER]
    found: dict[str, Any] = {name: getattr(newest, name) for name in _WHOLE}
    found |= {name: all(getattr(snapshot, name) for snapshot in recent) for name in _OF_ALL}
    return replace(merge_snapshots(recent, finished=False), **found)


_OF_PROCESSES = (
    *("cpu_seconds", "dns_queries", "commits", "commit_seconds", "politeness_violations"),
    *("announced", "unannounced", "objects_put", "objects_delivered"),
)
"""What each process counts for itself from its start."""


class RunSnapshots:
    """The snapshots of a run by workers that share a crawl. What workers that have ended had reported still counts."""

    def __init__(self) -> None:
        self._before: int | None = None
        self._of: dict[int, Snapshot] = {}
        """The last snapshot of each process."""
        self._most_memory = 0

    def begin(self, pages: int) -> None:
        """The number of pages before the run. A run that has begun goes on."""
        self._before = pages if self._before is None else self._before

    def run_pages(self, pages: int) -> int:
        """How many of the pages were stored in this run."""
        return 0 if self._before is None else max(0, pages - self._before)

    def merge(self, statuses: Sequence[Status]) -> Snapshot:
        """There is at least one."""
        newest = max(status.snapshot.at for status in statuses)
        recent = {each.process: each.snapshot for each in statuses if newest - each.snapshot.at < STALE_AFTER}
        self._of |= recent
        self._most_memory = max(self._most_memory, sum(each.max_rss_bytes for each in recent.values()))
        whole = whole_snapshot([status.snapshot for status in statuses])
        found: dict[str, Any] = {name: sum(getattr(each, name) for each in self._of.values()) for name in _OF_PROCESSES}
        found["cache_failures"] = _counted(each.cache_failures for each in self._of.values())
        found |= {"run_pages": self.run_pages(whole.pages), "max_rss_bytes": self._most_memory}
        return replace(whole, **found)


def _all_internals(found: Sequence[Internals]) -> Internals:
    """Everything is counted, so everything is added up."""
    names = [column.name for column in fields(Internals) if column.name not in ("phases", "wakings")]
    return Internals(
        phases={
            name: _all_times([each.phases[name] for each in found if name in each.phases]) for name in _phases(found)
        },
        wakings=_all_times([each.wakings for each in found]),
        **{name: sum(getattr(each, name) for each in found) for name in names},
    )


def _phases(found: Sequence[Internals]) -> list[str]:
    return list(dict.fromkeys(name for each in found for name in each.phases))


def _all_times(spreads: Sequence[Spread]) -> Spread:
    return Spread(_added(spread.counts for spread in spreads), sum(spread.total for spread in spreads))


def _all_seeds(counts: Sequence[SeedCounts]) -> SeedCounts | None:
    """Every worker has all seeds, and knows what became of its own."""
    if not counts:
        return None
    given, stored = max(seeds.given for seeds in counts), sum(seeds.stored for seeds in counts)
    return SeedCounts(given, stored, _counted(seeds.failed for seeds in counts))


def _all_readmissions(counts: Sequence[ReadmissionCounts | None]) -> ReadmissionCounts | None:
    """None until every worker has counted its pages: the rules become wider for all of them. A worker that was started
    again after its pass has no counts, while those of the others are complete."""
    found = [each for each in counts if each is not None]
    if not found or (len(found) < len(counts) and not all(each.complete for each in found)):
        return None
    return ReadmissionCounts(
        changes=found[0].changes,
        pages=sum(each.pages for each in found),
        done=sum(each.done for each in found),
        returned=sum(each.returned for each in found),
        unreadable=sum(each.unreadable for each in found),
        unreadable_files=tuple(name for each in found for name in each.unreadable_files),
        complete=all(each.complete for each in found),
    )


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total.most_common())


def _added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0))


def _waits(merged: Snapshot, snapshots: Sequence[Snapshot]) -> str:
    """What the crawl waits for: nothing, as long as any worker has work."""
    if merged.delivering:
        objects = formatter.number_of(merged.spool_segments, "object")
        return f"{objects} to be delivered to object storage; Ctrl-C again leaves them in the spools"
    said = [snapshot.waiting_for for snapshot in snapshots if not snapshot.delivering]
    if len(set(said)) < 2 or not all(said):
        return said[0] if len(set(said)) == 1 else ""
    waits = Waits(
        in_flight=merged.in_flight,
        unread=merged.documents_waiting,
        ready_hosts=merged.hosts_ready,
        resting_hosts=merged.hosts_waiting,
        next_contact=merged.next_contact,
        retries=0 if merged.next_due is None else None,
        next_retry=merged.next_due,
        dns_failing=merged.dns_failing,
        proxy_failing=merged.proxy_failing,
        store_failing=merged.store_failing,
        store_slow=merged.store_slow,
        blobs_failing=merged.blobs_failing,
        paused=merged.paused,
    )
    return waiting_for(waits, merged.at)


def _filled(queues: Sequence[Mapping[str, QueueDepth]]) -> dict[str, QueueDepth]:
    found: dict[str, QueueDepth] = {}
    for one in queues:
        for name, fill in one.items():
            found[name] = QueueDepth(*map(sum, zip(found.get(name, QueueDepth(0)), fill, strict=True)))
    return found
