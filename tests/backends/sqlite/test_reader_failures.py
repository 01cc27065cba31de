"""A failing driver: every method of the read ports raises StoreFailed, and every method of the archive ArchiveError."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase
from gossamer.backends.warc.reader import WarcArchive
from gossamer.errors import ArchiveError, DiskFull, StoreFailed
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.units import Domain, Fingerprint, HostKey, Instant, Origin
from gossamer.reports import ports
from gossamer.reports.ports import Archive, CrawlEditor, Repair
from gossamer.reports.records import DeadFilter, HostFilter, OrphanRecord, PageFilter
from gossamer.reports.table.reader import TableEditor
from tests.table import table

HOST, DOMAIN, ORIGIN, PRINT = HostKey("h.test"), Domain("h.test"), Origin("http://h.test"), Fingerprint(1)
NOW = Instant(1.0)


def position(url: UrlFacts) -> QueuePosition:
    return QueuePosition(0, 0.5)


class FailingConnection:
    """Every statement fails, from the n-th on."""

    def __init__(self, error: sqlite3.Error, after: int = 0) -> None:
        self._error = error
        self._left = after

    def execute(self, statement: str, values: object = ()) -> "FailingConnection":
        if statement == "ROLLBACK":
            return self
        if not self._left:
            raise self._error
        self._left -= 1
        return self

    def close(self) -> None: ...


def failing(error: sqlite3.Error | None = None, after: int = 0) -> CrawlEditor:
    made = FailingConnection(error or sqlite3.OperationalError("disk I/O error"), after)
    return TableEditor(SqliteDatabase(cast(sqlite3.Connection, made), Path("crawl.db")))


READS: dict[str, Callable[[CrawlEditor], object]] = {
    "status.totals": lambda crawl: crawl.status.totals(),
    "status.waits": lambda crawl: crawl.status.waits(NOW),
    "status.recrawl_report": lambda crawl: crawl.status.recrawl_report(NOW),
    "status.fact": lambda crawl: crawl.status.fact("order"),
    "status.worker_facts": lambda crawl: crawl.status.worker_facts("announced"),
    "status.options": lambda crawl: crawl.status.options(),
    "status.queue_order": lambda crawl: crawl.status.queue_order(),
    "status.seed_sources": lambda crawl: crawl.status.seed_sources(),
    "status.seeds": lambda crawl: list(crawl.status.seeds()),
    "status.outcome_of": lambda crawl: crawl.status.outcome_of(Domain("x.test"), Fingerprint(1)),
    "pages.stream": lambda crawl: crawl.pages.stream(PageFilter()),
    "pages.window": lambda crawl: crawl.pages.window(PageFilter(), after=0),
    "pages.last_id": lambda crawl: crawl.pages.last_id(),
    "hosts.rows": lambda crawl: crawl.hosts.rows(HostFilter(), "queued"),
    "hosts.count": lambda crawl: crawl.hosts.count(HostFilter()),
    "dead_letters.stream": lambda crawl: crawl.dead_letters.stream(DeadFilter()),
    "dead_letters.window": lambda crawl: crawl.dead_letters.window(DeadFilter(), after=0),
    "dead_letters.ids": lambda crawl: crawl.dead_letters.ids(DeadFilter(), after=0, most=10),
    "dead_letters.ids_of": lambda crawl: crawl.dead_letters.ids_of(["http://h.test/"]),
    "dead_letters.excluded": lambda crawl: crawl.dead_letters.excluded(("robots",)),
    "dead_letters.limited": lambda crawl: crawl.dead_letters.limited(("robots",)),
    "urls.fingerprint_key": lambda crawl: crawl.urls.fingerprint_key(),
    "urls.learnt_parameters": lambda crawl: crawl.urls.learnt_parameters(HOST),
    "urls.owner_of": lambda crawl: crawl.urls.owner_of(lambda partitions: 0),
    "urls.seed_host": lambda crawl: crawl.urls.seed_host(HOST),
    "urls.seed_host_in": lambda crawl: crawl.urls.seed_host_in(DOMAIN),
    "urls.facts": lambda crawl: crawl.urls.facts(HOST, DOMAIN, "test", ORIGIN, [PRINT]),
    "links.fingerprint_key": lambda crawl: crawl.links.fingerprint_key(),
    "links.edges": lambda crawl: crawl.links.edges(),
    "links.nodes": lambda crawl: crawl.links.nodes(),
    "links.names": lambda crawl: crawl.links.names(),
    "links.names_of": lambda crawl: crawl.links.names_of([1]),
    "links.graph_urls": lambda crawl: crawl.links.graph_urls(),
    "links.domain_suffixes": lambda crawl: crawl.links.domain_suffixes(),
    "links.targets": lambda crawl: crawl.links.targets(),
    "audit.integrity": lambda crawl: crawl.audit.integrity(),
    "audit.archive_lengths": lambda crawl: crawl.audit.archive_lengths(),
    "audit.spooled_files": lambda crawl: crawl.audit.spooled_files(),
    "audit.captures_of": lambda crawl: crawl.audit.captures_of("one.warc.gz"),
    "audit.wrong_counters": lambda crawl: crawl.audit.wrong_counters(),
    "audit.hosts_counted_wrong": lambda crawl: crawl.audit.hosts_counted_wrong(),
    "audit.hosts_without_front": lambda crawl: crawl.audit.hosts_without_front(),
    "audit.unbacked": lambda crawl: crawl.audit.unbacked(),
    "audit.unknown_visits": lambda crawl: crawl.audit.unknown_visits(),
    "audit.unseen": lambda crawl: crawl.audit.unseen(),
    "audit.dangling_contents": lambda crawl: crawl.audit.dangling_contents(),
    "audit.count_urls": lambda crawl: crawl.audit.count_urls(),
    "requeue_dead": lambda crawl: crawl.requeue_dead(DeadFilter(), NOW, position),
    "drop_dead": lambda crawl: crawl.drop_dead(DeadFilter(host="h.test"), NOW, position),
    "repair": lambda crawl: crawl.repair(NOW, position).__enter__(),
}
REPAIRS: dict[str, Callable[[Repair], object]] = {
    "queue_again": lambda repair: repair.queue_again([1]),
    "set_aside": lambda repair: repair.set_aside("one.warc.gz", 0),
    "note_stored": lambda repair: repair.note_stored("one.warc.gz"),
    "forget_capture": lambda repair: repair.forget_capture("one.warc.gz", 0),
    "shorten": lambda repair: repair.shorten("one.warc.gz", 0),
    "add_rows": lambda repair: repair.add_rows(
        [OrphanRecord("one.warc.gz", 0, 1, "http://h.test/", False, None, None)]
    ),
    "forget_visit": lambda repair: repair.forget_visit(1),
    "learn_content": lambda repair: repair.learn_content(1),
    "forget_content": lambda repair: repair.forget_content(b"digest"),
    "enter_fronts": lambda repair: repair.enter_fronts(1),
    "count_again": lambda repair: repair.count_again(),
}
ARCHIVE: dict[str, Callable[[Archive], object]] = {
    "read": lambda archive: archive.read("one.warc.gz", 0, 10),
    "scan": lambda archive: archive.scan("one.warc.gz"),
    "content": lambda archive: archive.content("one.warc.gz", 10),
    "size": lambda archive: archive.size("one.warc.gz"),
    "files": lambda archive: archive.files(),
    "cut": lambda archive: archive.cut("one.warc.gz", 0),
    "put_aside": lambda archive: archive.put_aside("one.warc.gz"),
}


def used(found: object) -> object:
    """Read to its end, if it is an iterator: they fail when they are read."""
    return list(found) if isinstance(found, Iterator) else found


@table("name", READS)
def test_a_failing_driver_is_a_failing_store(name: str) -> None:
    with pytest.raises(StoreFailed, match="disk I/O error"):
        used(READS[name](failing()))


@table("name", REPAIRS)
def test_a_driver_that_fails_during_a_repair_is_a_failing_store(name: str) -> None:
    repairs = failing(after=1).repair(NOW, position)  # begins, and nothing else

    with pytest.raises(StoreFailed, match="disk I/O error"), repairs as repair:
        REPAIRS[name](repair)


def test_a_repair_that_cannot_be_committed_is_a_failing_store() -> None:
    with pytest.raises(StoreFailed, match="disk I/O error"), failing(after=1).repair(NOW, position):
        pass


def test_a_full_disk_is_told_as_such() -> None:
    with pytest.raises(DiskFull, match="no space left"):
        failing(sqlite3.OperationalError("database or disk is full")).requeue_dead(DeadFilter(), NOW, position)


class FailingFolder:
    """A folder, and every file in it, of a disk that cannot be read."""

    def __truediv__(self, name: str) -> "FailingFolder":
        return self

    def __fspath__(self) -> str:
        raise OSError(5, os.strerror(5))

    def __getattr__(self, name: str) -> Any:
        raise OSError(5, os.strerror(5))


@pytest.mark.parametrize("name", ARCHIVE)
def test_a_disk_that_cannot_be_read_is_a_failing_archive(name: str) -> None:
    with pytest.raises(ArchiveError, match="Input/output error"):
        used(ARCHIVE[name](WarcArchive(cast(Path, FailingFolder()))))


def methods_of(port: type) -> set[str]:
    return {name for base in port.__mro__ for name in vars(base) if not name.startswith("_")} - {"close"}


def test_every_method_of_the_ports_is_tried_above() -> None:
    groups = {
        "status": ports.StatusReader,
        "pages": ports.PageReader,
        "hosts": ports.HostReader,
        "dead_letters": ports.DeadLetterReader,
        "urls": ports.UrlReader,
        "links": ports.LinkReader,
        "audit": ports.AuditReader,
    }
    assert methods_of(ports.CrawlReader) == groups.keys()
    wanted = {f"{group}.{name}" for group, port in groups.items() for name in methods_of(port)}

    assert READS.keys() == wanted | (methods_of(ports.CrawlEditor) - groups.keys())
    assert REPAIRS.keys() == methods_of(ports.Repair)
    assert ARCHIVE.keys() == methods_of(ports.Archive)
