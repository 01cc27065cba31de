"""Opens the store of a crawl that is about to run: tables, contact journal, archive, metadata and seeds. The
URL of the store says which backends these are (`opener.STORES`)."""

import json
import os
import random
import secrets
from functools import partial
from typing import NamedTuple

from gossamer.backends.memory import MemoryArchive
from gossamer.backends.warc.captures import WarcCaptures, WarcEncoder
from gossamer.backends.warc.record import RecordIds, Warcinfo
from gossamer.backends.warc.writer import FILE_PREFIX, RepairKind, WarcWriter, cut_back, file_names_of
from gossamer.clock import Clock
from gossamer.cluster.lease import LeaseTerms
from gossamer.config.admission import ADMISSION_KEY, AdmissionRecord, admission_rules_for
from gossamer.config.hosts import HostSettingsTable
from gossamer.config.load import (
    CONFIG_KEY,
    DELAYS_KEY,
    Config,
    config_to_text,
    delays_to_text,
    known_shape,
    make_config,
    shape_of,
)
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.config.policies import politeness_for, recrawl_policy_for
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.announcer import POSITION_KEY
from gossamer.crawl.document.processor import CaptureEncoder
from gossamer.crawl.member.joining import Tell
from gossamer.crawl.member.member import Member
from gossamer.crawl.member.shared_store import SharedTables
from gossamer.crawl.member.worker import Worker, WorkerFile, WorkerLife
from gossamer.crawl.run.directory import SPOOL, CrawlDirectory
from gossamer.crawl.run.location import CrawlLocation, in_object_storage, is_on_server, store_kind
from gossamer.crawl.run.object_archive import open_objects
from gossamer.crawl.run.opener import archive_in, shown_crawl
from gossamer.crawl.run.recovery import RecoveredContacts, recover_contacts
from gossamer.errors import DirectoryError, NameInUse, NotThisCrawl, UsageError
from gossamer.fetch.robots import parse_robots
from gossamer.filter.domains import domain_of
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.batch import Batch, LearntParameter, SeedRecord
from gossamer.model.units import Epoch, HostId, Instant, Seconds, Url
from gossamer.observe import formatter
from gossamer.recrawl.budget import PACE, TOKENS
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.price import PRICE
from gossamer.reports.ports import Archive
from gossamer.seed.lists import Seed
from gossamer.store.ports import CaptureFiles, ContactJournal, Database, Delivery, Tables
from gossamer.store.table.metadata import Metadata, learned_parameters
from gossamer.store.table.priorities import reorder
from gossamer.store.table.writer import TableWriter
from gossamer.version import __version__


def has_files(config: Config) -> bool:
    """Whether captures are stored in WARC files on disk."""
    if in_object_storage(config.blobs):
        return False
    return not store_kind(config.store).one_process or config.blobs is not None


def store_for(config: Config, directory: CrawlDirectory) -> tuple[Tables, ContactJournal]:
    """The tables that a configuration names, and the contact journal that goes with them."""
    kind = store_kind(config.store)
    if kind.in_directory:
        directory.refuse_other_store()
    tables = kind.open_tables(config.store or "", directory.path, config.unsafe_store)
    return tables, kind.open_journal(directory)


class OpenArchive(NamedTuple):
    """The archive of a running crawl."""

    captures: CaptureFiles
    encode: CaptureEncoder  # makes a capture of a response
    reading: Archive  # reads what is committed, while the crawl runs
    delivery: Delivery | None = None  # to object storage


def open_archive(
    config: Config, directory: CrawlDirectory, facts: Metadata, clock: Clock, member: Member | None
) -> OpenArchive:
    """The WARC files, truncated to what was committed; of a worker that shares a crawl, those of its directory. Or the
    objects, with the epoch of this life of the worker in their names. Raises DirectoryError if committed records are
    missing."""
    ids = RecordIds(random.Random(secrets.randbits(128)))
    encoder = WarcEncoder(ids)
    info = Warcinfo(f"gossamer/{__version__}", config.user_agent, "")
    if config.blobs is not None and in_object_storage(config.blobs):
        captures, reading, delivery = open_objects(
            config.blobs,
            directory.path / SPOOL,
            spool_bytes=config.objects.spool_bytes,
            facts=facts,
            epoch=secrets.randbits(63) if member is None else member.life.epoch,
            warcinfo=info,
            ids=ids,
            clock=clock,
        )
        return OpenArchive(captures, encoder.capture, reading, delivery)
    committed = facts.warc_lengths()
    if any("/" in name for name in committed):
        raise NotThisCrawl(f"the crawl in {directory.path} has its archive in object storage; name it with --blobs")
    if not has_files(config):
        in_memory = MemoryArchive(ids)
        return OpenArchive(in_memory, encoder.capture, in_memory)
    prefix = FILE_PREFIX if member is None else f"{FILE_PREFIX}-{member.archive_name}"
    if member is not None:
        ours = file_names_of(prefix)
        committed = {name: length for name, length in committed.items() if ours.fullmatch(name)}
    for repair in cut_back(directory.warcs, committed, prefix):
        if repair.kind is RepairKind.DAMAGED:
            place = directory.warcs / repair.file_name
            problem = (
                f"damaged: {repair.committed_length} bytes were committed, {repair.length_found} are there"
                if place.exists()
                else f"missing ({repair.committed_length} bytes)"
            )
            raise DirectoryError(
                f"{place} is {problem}. Restore it, or run gossamer verify --repair --dir {directory.path}: the next "
                "crawl then fetches the lost documents again"
            )
    writer = WarcWriter(
        directory.warcs,
        prefix,
        info=info,
        ids=ids,
        clock=clock,
        rotate_bytes=config.archive.warc_rotate_bytes,
        committed=committed,
    )
    return OpenArchive(WarcCaptures(writer, ids), encoder.capture, archive_in(config.blobs, directory.path))


class Opening(NamedTuple):
    """What a crawl is opened with."""

    config: Config
    seeds: list[Seed]
    add_seeds: bool
    may_be_empty: bool
    directory: CrawlDirectory
    tables: Tables
    journal: ContactJournal
    clock: Clock
    member: Member | None  # of a crawl that workers share


def join_crawl(
    config: Config,
    directory: CrawlDirectory,
    tables: SharedTables,
    hosts: HostSettingsTable,
    seeds: bool,
    worker: Worker,
    tell: Tell,
) -> Member:
    """Become one of the workers that share a crawl. `seeds`: whether any were given, or none are needed. Raises
    NotThisCrawl if there is no crawl to resume, NameInUse, and StoreFailed."""
    if not tables.exist() and not seeds:
        raise no_crawl_in(config)
    tables.prepare(config.cluster.partitions)
    file = WorkerFile(directory.path, secrets.token_hex(3))
    name = worker.name or file.name or f"{os.uname().nodename}-{secrets.token_hex(3)}"
    tables.name_worker(name)
    life = WorkerLife(name, Epoch(secrets.randbits(63)), __version__, worker.weight, worker.joins)
    terms = LeaseTerms(Seconds(config.cluster.ttl))
    try:
        return Member.join(tables, file, life, terms, politeness_for(config), hosts, config.robots_agent, tell)
    except NameInUse as error:
        raise NameInUse(name, error.holder, shown_crawl(CrawlLocation.of(config))) from error


def no_crawl_in(config: Config) -> NotThisCrawl:
    place = shown_crawl(CrawlLocation.of(config))
    return NotThisCrawl(f"there is no crawl in {place} to resume; give it a URL or --seeds to start one")


def open_database(opening: Opening) -> Database:
    """The database of the crawl. Raises NotThisCrawl if there is no crawl to resume, or another one."""
    directory, seeds, kind = opening.directory, opening.seeds, store_kind(opening.config.store)
    place = shown_crawl(CrawlLocation.of(opening.config))
    nothing = no_crawl_in(opening.config)
    if opening.member is not None:
        db = opening.member.open_writer()
    elif not opening.tables.exist() and not seeds and not opening.may_be_empty:
        raise nothing
    else:
        db = opening.tables.open_writer()
    facts = Metadata(db)
    facts.settle_identity(opening.clock.now(), secrets.token_hex(8), secrets.randbits(63))
    known_seeds = facts.seeds()
    # Also where a process was killed before its seeds were committed.
    if not known_seeds and not seeds and not opening.may_be_empty:
        db.close()
        raise nothing
    strangers = [seed for seed in seeds if seed.url not in known_seeds]
    if known_seeds and strangers and not opening.add_seeds:
        db.close()
        known = formatter.number_of(len(known_seeds), "seed")
        raise NotThisCrawl(
            f"{place} contains another crawl ({known}, including {min(known_seeds)}); "
            f"{strangers[0].url} is not one of its seeds. Use another {'--dir' if kind.in_directory else '--store'}, "
            "or --add-seeds to add it to this crawl"
        )
    if is_on_server(CrawlLocation.of(opening.config)):
        try:
            directory.settle_owner(facts.fact("crawl_id") or "", place)
        except DirectoryError:
            db.close()
            raise
    return db


class KnownCrawl(NamedTuple):
    """What the database says about the crawl itself."""

    crawl_id: str
    seeds: frozenset[Url]
    fingerprint_key: int
    parameters: list[LearntParameter]
    recovered: RecoveredContacts
    price: str | None
    tokens: str | None
    pace: str | None
    admission: AdmissionRecord | None  # None: a new crawl
    announced: str | None  # the position in the document stream


def read_metadata(
    opening: Opening,
    db: Database,
    hosts: HostSettingsTable,
    politeness: PolitenessPolicy,
) -> KnownCrawl:
    """Read what is known, and remember the configuration. Restores the operator's overrides into `hosts`."""
    config, facts = opening.config, Metadata(db)
    admission = _admission_record(facts)
    hosts.overrides.add(Overrides.from_text(facts.fact(OVERRIDES_KEY)).hosts)
    if opening.member is None or not opening.member.life.joins:
        facts.save_options(shape_of(config))
        facts.save_fact(DELAYS_KEY, delays_to_text(config))
        facts.set_memory_format(recrawl_policy_for(config).memory_format)
    if opening.member is not None and not opening.member.life.joins:
        facts.save_fact(CONFIG_KEY, config_to_text(config))

    def known_clock(host_id: HostId) -> tuple[Instant, Seconds | None]:
        next_contact, bodies = facts.clock_and_robots(host_id)
        delays = (parse_robots(body, config.robots_agent).crawl_delay for body in bodies)
        known = [delay for delay in (*delays, hosts.for_host(facts.host(host_id)).min_delay) if delay is not None]
        return next_contact, max(known, default=None)

    def own_fact(name: str) -> str | None:
        own = None if opening.member is None else facts.fact(opening.member.fact_name(name))
        return facts.fact(name) if own is None else own

    return KnownCrawl(
        crawl_id=facts.fact("crawl_id") or "",
        seeds=facts.seeds(),
        fingerprint_key=facts.fingerprint_key(),
        parameters=learned_parameters(db),
        price=own_fact(PRICE),
        tokens=own_fact(TOKENS),
        pace=own_fact(PACE),
        admission=admission,
        announced=own_fact(POSITION_KEY),
        recovered=recover_contacts(opening.journal.last_contacts(), politeness, opening.clock.now(), known_clock),
    )


def _admission_record(facts: Metadata) -> AdmissionRecord | None:
    """Under which rules URLs were refused. A crawl of an older version has the main options of its last start."""
    if (text := facts.fact(ADMISSION_KEY)) is not None:
        return AdmissionRecord.from_text(text)
    if (options := facts.fact("options")) is None:
        return None
    before = make_config({}, known_shape(json.loads(options)))
    return AdmissionRecord((admission_rules_for(before, len(facts.seeds())),))


def table_writer(
    opening: Opening, db: Database, captures: CaptureFiles, planner: RecrawlPlanner, ordering: Ordering
) -> TableWriter:
    """What commits batches, after the queued URLs were reprioritised for the ordering of the configuration. Raises
    UsageError if other workers use another one."""
    member, facts = opening.member, Metadata(db)
    if member is None or member.is_alone:
        reorder(db, ordering.name, ordering, opening.clock.now(), settings=ordering.queue_settings)
    elif (facts.order(), facts.order_settings()) != (ordering.name, ordering.queue_settings):
        raise UsageError(
            f"--order {ordering.name}: the workers of this crawl use {facts.order()}, or other weights; stop them "
            f"first: {member.describe_others()}"
        )
    if member is not None:
        member.end_set_up()
    return TableWriter(
        db,
        captures,
        domain_of if member is None else partial(domain_of, partitions=member.ownership.partitions),
        ordering,
        opening.clock,
        date_of_reported=planner.dates.date_of_reported,
        postpone=planner.dates.postpone,
        replan=planner.dates.replan,
        ownership=None if member is None else member.ownership,
        fact_name=str if member is None else member.fact_name,
    )


def commit_seeds(opening: Opening, writer: TableWriter, admission: Admission, recovered: RecoveredContacts) -> None:
    """Commit the seeds that are new, and the politeness clocks that were recovered from the contact journal."""
    now = opening.clock.now()
    first = Batch()
    if opening.member is not None:
        opening.member.adopt(now)
    first.hosts = {host.host_id: host for host in recovered.clocks}
    first.seeds = [SeedRecord(seed.url, seed.host, str(seed.url), seed.where) for seed in opening.seeds]
    first.candidates = [admission.admit_seed(seed.url, seed.host) for seed in opening.seeds]
    if first:
        writer.commit(first, now)
    opening.journal.clear()
    writer.requeue_missing(opening.clock.now())
