"""An open crawl with its log, status file, display and hooks. The callers start and stop it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from gossamer.clock import cpu_seconds
from gossamer.config.load import Config
from gossamer.crawl.hooks import Hook, HookRunner, hook_named
from gossamer.crawl.member.joining import Tell
from gossamer.crawl.member.worker import Worker
from gossamer.crawl.observers import CrawlObserver
from gossamer.crawl.run.assemble import assemble
from gossamer.crawl.run.crawl import Crawl
from gossamer.crawl.run.directory import SPOOL
from gossamer.crawl.run.live import LivePublisher
from gossamer.crawl.run.location import CrawlLocation, is_on_server
from gossamer.crawl.run.opener import SOLE_WORKER, live_status
from gossamer.crawl.run.page_log import PATIENCE, PageLog
from gossamer.crawl.status import count_seeds, internals_of, max_rss_bytes, queues_of
from gossamer.errors import HistoryLost, StoreFailed, UsageError
from gossamer.extract.main_text import TextExtractor
from gossamer.frontier.decisions import FrontierStatistics
from gossamer.frontier.selector import Load
from gossamer.model.cache_fault import CacheFault
from gossamer.model.delivery import DeliveryStatistics
from gossamer.model.requeue import REFRESHING
from gossamer.model.units import Instant
from gossamer.observe import formatter
from gossamer.observe.audit import Violation
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import (
    CacheCounts,
    Internals,
    ReadmissionCounts,
    Snapshot,
)
from gossamer.observe.wait_reasons import Waits, waiting_for
from gossamer.recrawl.freshness import freshness_of
from gossamer.seed.lists import Seed
from gossamer.sketch import Durations
from gossamer.store.ports import LiveStatus
from gossamer.store.table.orders import LiveRow
from gossamer.store.threads import ConnectionThread

HEARTBEAT_SECONDS = 0.02
SNAPSHOTS_PER_SCAN = 8
"""Snapshots between two scans of all hosts."""
SAMPLE_SECONDS = 60.0


class Display(Protocol):
    """Displays progress."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Session:
    """An open crawl for the code that runs it."""

    crawl: Crawl
    log: EventLog
    watch: "Watch"
    live: LivePublisher
    steering: ConnectionThread


@asynccontextmanager
async def session(
    config: Config,
    seeds: list[Seed],
    add_seeds: bool,
    display: Display,
    *,
    hooks: Sequence[Hook] = (),
    may_be_empty: bool = False,
    worker: Worker | None = None,
    tell: Tell = lambda _: None,
) -> AsyncIterator[Session]:
    """Open a crawl; the block runs it. Displays and logs its progress, and releases everything at the end.

    Hooks that the configuration names are loaded from entry points; `hooks` are those of the caller. Without a seed
    there is no crawl, unless it `may_be_empty`. `tell` says what the start waits for. Raises UsageError or
    DirectoryError; then nothing was changed.
    """
    named = [(name, hook_named(name)) for name in config.hooks]
    named += [(type(hook).__name__, hook) for hook in hooks]
    pages = open_page_log(config)
    try:
        crawl = assemble(
            config,
            seeds,
            add_seeds=add_seeds,
            may_be_empty=may_be_empty,
            worker=worker,
            tell=tell,
        )
    except BaseException:
        if pages is not None:
            pages.close()
        raise
    log = EventLog(crawl.directory.log, crawl.clock, rotate_bytes=config.log.rotate_bytes, keep=config.log.keep)
    watch = Watch(crawl, log, config.blobs)
    crawl.engine.observers.subscribe(_CrawlLogger(log, crawl.store.slow_after, watch))
    if pages is not None:
        crawl.engine.events.subscribe(pages)
    hooked = _start_hooks(crawl, named, TextExtractor(config.content.text), log) if named else None
    log.event("crawl.started", dir=config.dir, seeds=len(seeds), queued=crawl.counters.total["state:queued"])
    location = CrawlLocation.of(config)._replace(directory=crawl.directory.path)
    steering = ConnectionThread(crawl.tables.open_steering, "gossamer-orders")
    if is_on_server(location):
        name = SOLE_WORKER if crawl.member is None else crawl.member.name
        status: LiveStatus = LiveRow(steering, name, is_shared=True)
    else:
        status = live_status(location, read_only=False)
    live = LivePublisher(status, watch.snapshot, is_on_server=crawl.member is not None)
    ticking = asyncio.create_task(_tick(watch, display, log, live))
    beating = asyncio.create_task(watch.heartbeat())
    sampling = asyncio.create_task(watch.sample())
    sharing = None if crawl.member is None else asyncio.create_task(_share(crawl))
    try:
        yield Session(crawl, log, watch, live, steering)
    except BaseException as error:
        of = {} if crawl.member is None else {"worker": crawl.member.name}
        log.event("crawl.failed", error=str(error), kind=type(error).__name__, **of)
        if crawl.member is not None and isinstance(error, HistoryLost):
            with suppress(StoreFailed):  # then another worker notices
                await asyncio.to_thread(crawl.member.on_history_lost)
        raise
    finally:
        ticking.cancel()
        beating.cancel()
        sampling.cancel()
        last = watch.snapshot()
        display.update(last)  # its owner closes it: a worker that joins again goes on with it
        await asyncio.gather(ticking, sampling, return_exceptions=True)
        if sharing is not None:
            sharing.cancel()
            await asyncio.gather(sharing, return_exceptions=True)
        await live.close()
        steering.close()
        if hooked is not None:
            await hooked.close()
        await crawl.close()
        watch.log_delivery()
        if pages is not None:
            pages.close(PATIENCE)
            if pages.lost:
                log.event("log.pages_lost", lines=pages.lost, reason=pages.problem or "its reader is too slow")
        log.event("crawl.ended", pages=last.pages, fetched=last.fetched, queued=last.queued, finished=last.finished)
        log.close()


async def _share(crawl: Crawl) -> None:
    """Share the crawl with other workers. What ends this worker ends its crawl."""
    assert crawl.member is not None
    try:
        await crawl.member.run()
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        first: BaseException = error
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        crawl.engine.fail(first)


def open_page_log(config: Config) -> PageLog | None:
    """The page log, if one is wanted. Raises UsageError for a file that cannot be opened."""
    if config.log.pages is None:
        return None
    try:
        return PageLog(config.log.pages)
    except OSError as error:
        raise UsageError(
            f"--log-pages: cannot write to {config.log.pages!r}: {error.strerror}; name another file, or -"
        ) from error


class _CrawlLogger(CrawlObserver):
    """Logs what an operator should know of."""

    def __init__(self, log: EventLog, slow_after: float, watch: "Watch") -> None:
        self._log = log
        self._slow_after = slow_after
        self._watch = watch

    def store_failing(self, error: StoreFailed | None) -> None:
        if error is None:
            self._log.event("store.recovered")
        else:
            self._log.event("store.failing", error=str(error))

    def store_slow(self, slow: bool) -> None:
        if slow:
            self._log.event("store.slow", after_s=self._slow_after)
        else:
            self._log.event("store.recovered")

    def dns_failing(self, failing: bool) -> None:
        if failing:
            self._log.event("dns.failing")
        else:
            self._log.event("dns.recovered")

    def cache_failing(self, fault: CacheFault | None, reason: str) -> None:
        self._watch.cache_problem = "" if fault is None else reason
        if fault is None:
            self._log.event("cache.closed")
        else:
            self._log.event("cache.open", fault=fault.value, reason=reason)

    def cache_emptied(self) -> None:
        self._log.event("cache.emptied")

    def load_changed(self, load: Load, reason: str) -> None:
        self._log.event("selector.load", mode=load.value, reason=reason)

    def readmission_changed(self, counts: ReadmissionCounts | None) -> None:
        if counts is not None and not counts.complete:
            self._log.event("rules.widened", changes=counts.changes, pages=counts.pages)
        elif counts is not None:
            files = "; ".join(counts.unreadable_files)
            self._log.event("rules.readmitted", returned=counts.returned, unreadable=counts.unreadable, files=files)

    def politeness_violated(self, violation: Violation) -> None:
        self._log.event("politeness.violated", kind=violation.kind, key=violation.key)


def _start_hooks(
    crawl: Crawl, hooks: Sequence[tuple[str, Hook]], extractor: TextExtractor, log: EventLog
) -> HookRunner:
    def failed(name: str, method: str, error: BaseException) -> None:
        log.event("hook.failed", hook=name, method=method, error=f"{type(error).__name__}: {error}")

    runner = HookRunner(hooks, crawl.engine.pump_soon, failed, extractor)
    crawl.engine.events.subscribe(runner)
    if runner.has_link_hooks:
        crawl.admission.filter_links(runner.may_enter)
    return runner


async def _tick(watch: "Watch", display: Display, log: EventLog, live: LivePublisher) -> None:
    """Update the display four times a second, the live status every second (or as often, if one process takes orders:
    on a server a row costs more than a file), and the log every ten."""
    ticks = 0
    while True:
        await asyncio.sleep(0.25)
        ticks += 1
        snapshot = watch.snapshot()
        display.update(snapshot)
        watch.log_delivery()
        if ticks % 4 == 1 or (live.steering is not None and not live.is_on_server):
            live.publish(snapshot)
        if ticks % 40 == 0:
            _log_progress(log, snapshot)


def _log_progress(log: EventLog, snapshot: Snapshot) -> None:
    log.event(
        "crawl.progress",
        pages=snapshot.pages,
        fetched=snapshot.fetched,
        queued=snapshot.queued,
        in_flight=snapshot.in_flight,
        waiting_for=snapshot.waiting_for,
        load=snapshot.load,
        selector_shares="/".join(f"{share:.1f}" for share in snapshot.selector_shares),
        loop_lag_s=round(snapshot.loop_lag, 4),
        max_rss_bytes=snapshot.max_rss_bytes,
    )


class Watch:
    """Takes snapshots of a running crawl."""

    def __init__(self, crawl: Crawl, log: EventLog, blobs: str | None = None) -> None:
        self._crawl = crawl
        self._log = log
        self._blobs = blobs
        self.cache_problem = ""
        self._began = crawl.clock.monotonic()
        self._cpu_before = cpu_seconds()
        self._lag = 0.0
        self._worst_lag = 0.0
        self._wakings = Durations()
        self._failing = 0  # hosts, as of the last scan
        self._looks = 0
        self._fresh: float | None = None  # as of the last sample
        self._overdue = 0

    def log_delivery(self) -> None:
        """Log what has happened on the way to object storage."""
        for event in () if self._crawl.delivery is None else self._crawl.delivery.take_events():
            self._log.event(event.name, **event.fields)

    async def heartbeat(self) -> None:
        """Measure how late the event loop wakes this task: that long it was blocked."""
        monotonic = self._crawl.clock.monotonic
        while True:
            before = monotonic()
            await asyncio.sleep(HEARTBEAT_SECONDS)
            late = monotonic() - before - HEARTBEAT_SECONDS
            self._lag = max(late, self._lag * 0.98)
            self._worst_lag = max(late, self._worst_lag)
            self._wakings.note_seconds(late)

    def last_snapshot(self) -> Snapshot:
        """The snapshot for the report. Reads the store: the reader thread has ended, and nothing else is to be done."""
        crawl, last = self._crawl, self.snapshot()
        if last.stopped == "paused_hosts":
            last = replace(last, hosts_held=crawl.host_contexts.count_held(last.at))
        with suppress(StoreFailed):  # then the report does without
            last = replace(last, seeds=count_seeds(crawl.reports.status, crawl.admission))
            if last.missing:
                last = replace(last, next_missing=crawl.reports.status.waits(last.at).next_missing)
        return last

    async def sample(self) -> None:
        """Estimate the freshness of the stored pages once a minute. Costs the reader thread some ten milliseconds."""
        crawl = self._crawl
        while True:
            now = crawl.clock.now()
            with suppress(StoreFailed):  # then the metrics keep their values
                report = await crawl.reads.ask(crawl.reports.status.recrawl_report, now)
                self._fresh, self._overdue = freshness_of(report.sample, now), report.overdue
            await asyncio.sleep(SAMPLE_SECONDS)

    def _freshness(self, now: Instant) -> FreshnessMetrics:
        requeue = self._crawl.engine.requeue
        price, rates = requeue.planner.price, requeue.rates
        discoveries, refreshes = rates.per_day(now)
        return FreshnessMetrics(
            fresh=self._fresh,
            price=price.price,
            scheduled=price.pages,
            demand=price.demand,
            budget=rates.budget,
            refreshes=refreshes,
            discoveries=discoveries,
            overdue=self._overdue if requeue.next_date <= now else 0,
            waiting=requeue.backlog,
            young=rates.is_young(now),
            dear_hosts=len(requeue.planner.backlogs.prices),
        )

    def _internals(self) -> Internals:
        crawl = self._crawl
        if self._looks % SNAPSHOTS_PER_SCAN == 0:
            self._failing = crawl.host_contexts.count_failing(crawl.health.opens_after)
        self._looks += 1
        return internals_of(
            resolver=crawl.resolver,
            fetcher=crawl.fetcher,
            documents=crawl.engine.documents,
            store=crawl.store,
            seen=crawl.admission.seen_statistics(),
            contents=crawl.contents.statistics(),
            owners=crawl.owners,
            sent_links=crawl.sent_links,
            wakings=self._wakings,
            hosts_failing=self._failing,
        )

    def _waiting_for_delivery(self, delivery: DeliveryStatistics) -> str:
        """Empty before the end of the crawl."""
        if not self._crawl.delivering:
            return ""
        objects = formatter.number_of(delivery.segments, "object")
        times = "again" if self._crawl.engine.stopped == "interrupted" else "twice"
        place = self._crawl.directory.path / SPOOL
        return f"{objects} to be delivered to {self._blobs}; Ctrl-C {times} leaves them in {place}"

    def snapshot(self) -> Snapshot:
        crawl = self._crawl
        total, run = crawl.counters.total, crawl.counters.run
        frontier = crawl.frontier.statistics()
        dns = crawl.resolver.statistics()
        delivery = DeliveryStatistics() if crawl.delivery is None else crawl.delivery.statistics()
        now = crawl.clock.now()
        cache = CacheCounts() if crawl.cache is None else crawl.cache.counts()
        return Snapshot(
            at=now,
            elapsed=crawl.clock.monotonic() - self._began,
            cpu_seconds=cpu_seconds() - self._cpu_before,
            max_rss_bytes=max_rss_bytes() + crawl.large_pages.peak_bytes,
            pages=crawl.engine.pages,
            run_pages=max(0, run["state:stored"] + run[REFRESHING]),
            fetched=total["fetched"],
            bytes=total["bytes"],
            discovered=total["discovered"],
            queued=total["state:queued"],
            duplicates=total["duplicates"],
            near_duplicates=total["near_duplicates"],
            sitemaps=total["sitemaps"],
            sitemap_urls=total["sitemap_urls"],
            refreshed=total["refreshed"],
            not_modified=total["not_modified"],
            unchanged=total["unchanged"],
            changed=total["changed"],
            reported=total["reported"],
            freshness=self._freshness(now),
            missing=total["state:missing"],
            gone=total["state:gone"],
            redirects=total["state:redirect"],
            dead=total["state:dead"],
            statuses=crawl.counters.by_reason("status"),
            errors=crawl.counters.by_reason("error"),
            excluded=crawl.counters.by_reason("excluded"),
            hosts_known=total["hosts"],
            hosts_in_memory=frontier.hosts,
            hosts_ready=frontier.ready,
            hosts_waiting=frontier.waiting,
            hosts_parked=frontier.parked,
            in_flight=crawl.engine.in_flight,
            urls_in_memory=frontier.urls,
            urls_by_front=frontier.urls_by_front,
            drawn=frontier.drawn,
            selector_shares=frontier.shares,
            load=frontier.load.value,
            load_reason=crawl.engine.load_reason,
            waiting_for=self._waiting_for_delivery(delivery)
            or waiting_for(
                waits_of(
                    frontier,
                    crawl.engine.in_flight,
                    len(crawl.engine.documents),
                    dns_failing=dns.failing,
                    proxy_failing=crawl.requester.proxy_failing,
                    store_failing=crawl.store.failing is not None,
                    store_slow=crawl.store.slow,
                    blobs_failing=delivery.failing is not None,
                    paused=crawl.engine.paused,
                ),
                now,
            ),
            next_contact=frontier.next_contact,
            next_due=frontier.next_due,
            delivering=crawl.delivering,
            cache_problem=self.cache_problem,
            robots_fetched=total["robots_fetched"],
            dns_queries=dns.queries,
            dns_failing=dns.failing,
            proxy_failing=crawl.requester.proxy_failing,
            slowest=tuple(sorted(crawl.requester.slowest.items(), key=lambda item: -item[1])),
            documents_waiting=len(crawl.engine.documents),
            store_saturation=crawl.store.saturation,
            store_failing=crawl.store.failing is not None,
            store_slow=crawl.store.slow,
            cache_fault=cache.fault,
            cache_failures=cache.failures,
            cache_emptied=cache.emptied,
            announced=cache.announced,
            unannounced=cache.unannounced,
            blobs_failing=delivery.failing is not None,
            spool_segments=delivery.segments,
            spool_bytes=delivery.bytes,
            spool_limit=delivery.limit,
            objects_put=delivery.puts,
            objects_delivered=delivery.delivered,
            queues=queues_of(crawl.engine, dns, crawl.bodies, crawl.reads, crawl.store, self._log),
            bodies_held=crawl.bodies.paused,
            log_lost=self._log.lost,
            commits=crawl.store.commits,
            commit_seconds=crawl.store.commit_seconds,
            loop_lag=self._lag,
            worst_loop_lag=self._worst_lag,
            politeness_violations=crawl.audit.violations,
            sharing=None if crawl.member is None else crawl.member.counts(),
            internals=self._internals(),
            paused=crawl.engine.paused,
            stopping=crawl.engine.stopping,
            finished=crawl.engine.finished,
            stopped=crawl.engine.stopped,
            readmission=crawl.engine.readmission.counts,
        )


def waits_of(
    frontier: FrontierStatistics,
    in_flight: int,
    unread: int,
    *,
    dns_failing: bool = False,
    proxy_failing: bool = False,
    store_failing: bool = False,
    store_slow: bool = False,
    blobs_failing: bool = False,
    paused: bool = False,
) -> Waits:
    """What the crawl waits for, as far as its frontier knows; of later retries only the next date."""
    return Waits(
        in_flight=in_flight,
        unread=unread,
        ready_hosts=frontier.ready,
        resting_hosts=frontier.waiting,
        next_contact=frontier.next_contact,
        retries=0 if frontier.next_due is None else None,
        next_retry=frontier.next_due,
        dns_failing=dns_failing,
        proxy_failing=proxy_failing,
        store_failing=store_failing,
        store_slow=store_slow,
        blobs_failing=blobs_failing,
        paused=paused,
    )
