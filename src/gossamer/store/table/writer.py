"""Commits a batch: its records go to the archive, then its rows into the tables in one transaction. Hot:
benchmarks/bench_store.py.

Used from one thread. Records are safe in the archive before the transaction that names them begins: an archive that is
slow keeps no transaction open, and a transaction that fails is tried again with the records that are there. A crash in
between leaves an object that nobody refers to, or bytes beyond the committed length of a file, which are cut off at the
next start. The order within a transaction matters. URLs are added before links are counted, so that the links that lead
to them count.

`Originals` finds the captures that duplicates and unchanged pages refer to.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from gossamer.clock import Clock
from gossamer.errors import StoreFailed, WorkerEnded
from gossamer.model.batch import Batch, Committed, HostCount, Touched
from gossamer.model.facts import BIRTH_CREDIT, NO_HOST, UrlFacts
from gossamer.model.http_dates import http_date
from gossamer.model.partition import ID_BITS
from gossamer.model.requeue import REFRESHING, RequeueOrder
from gossamer.model.settlement import Capture, Original, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import HostId, HostKey, Instant, Url
from gossamer.store.ports import (
    CaptureFiles,
    Database,
    DateOfReported,
    Location,
    Ownership,
    Postpone,
    Prioritiser,
    Replan,
)
from gossamer.store.table.bulk_changes import apply_change
from gossamer.store.table.foreign import Foreign
from gossamer.store.table.hosts import DomainOf, HostRows, bring_forward, retire_hosts, save_sitemaps
from gossamer.store.table.link_counts import TARGETS_AT_ONCE, FirstLink, LinkCounts, Source
from gossamer.store.table.metadata import save_learned
from gossamer.store.table.orders import answer_order
from gossamer.store.table.priorities import Reprioritiser
from gossamer.store.table.requeue import RequeueResult, next_due, requeue_due

T = TypeVar("T")


class Originals:
    """Finds the first capture of a document: among the settlements of this commit, then in the database."""

    def __init__(self, db: Database, settlements: Sequence[Settlement]) -> None:
        self._db = db
        self._settlements = settlements
        self._fresh: dict[bytes, Original] | None = None  # made when it is asked for: few commits have duplicates

    def revisit(self, capture: Capture, digest: bytes | None) -> Capture:
        """The capture of a duplicate with its original; as it is if no record of that is known: then it is stored
        whole."""
        original = None if digest is None else self._of_content(digest)
        return capture if original is None else capture._replace(original=original)

    def _of_content(self, digest: bytes) -> Original | None:
        if self._fresh is None:
            self._fresh = {
                s.digest: Original(s.capture.response.url, s.capture.response.started, s.capture.payload_digest)
                for s in self._settlements
                if s.state is UrlState.STORED and s.digest is not None and s.capture is not None
            }
        # The row in the database is older, so its URL owns the document.
        row = self._db.fetch_one("original_of_content", digest)
        return _original(row) or self._fresh.get(digest)


def original_of(db: Database, url_id: int) -> Original | None:
    """What a page that did not change refers to: the capture that has its document."""
    return _original(db.fetch_one("original_of_url", url_id))


def _original(row: tuple[str, float, bytes] | None) -> Original | None:
    return None if row is None else Original(Url(row[0]), Instant(row[1]), row[2])


_REDIRECT, _SEED = Via.REDIRECT, Via.SEED
_facts = tuple.__new__  # every candidate has some, and calling a named tuple's class costs twice as much
_NO_LINK = FirstLink(0, 0, 0, 0)
_NO_SOURCE = Source(0, -1, 0, 0, 0)

_NewRow = tuple[Any, ...]
"""A URL as `add_url` takes it."""
_URL, _VIA = 4, 11

_Touched = dict[tuple[HostId, int], float]  # host and front queue -> the first place that was added


class _Archived(NamedTuple):
    """The records of a batch, which are in the archive."""

    batch: Batch
    captures: Sequence[tuple[Capture, Location] | None]  # of each settlement
    lengths: Mapping[str, int]  # of the files that have grown


class TableWriter:
    """The only writer of a crawl's tables (`BatchWriter`). The queue must be in the order of `prioritiser`
    (`priorities.reorder`)."""

    def __init__(
        self,
        db: Database,
        captures: CaptureFiles,
        domain_of: DomainOf,
        prioritiser: Prioritiser,
        clock: Clock,
        *,
        targets_at_once: int = TARGETS_AT_ONCE,
        date_of_reported: DateOfReported = lambda page: page.modified,
        postpone: Postpone = lambda page, before, now: None,
        ownership: Ownership | None = None,
        fact_name: Callable[[str], str] = str,
        replan: Replan = lambda page: None,
    ) -> None:
        """Takes over the database, and closes it if it cannot begin. In a store that workers share, `ownership` says
        what this one owns, and `fact_name` under which name it keeps a fact. Raises StoreFailed."""
        self._fact_name = fact_name
        self._db = db
        self._captures = captures
        self._prioritiser = prioritiser
        self._clock = clock
        self._date_of_reported, self._postpone, self._replan = date_of_reported, postpone, replan
        self._hosts = HostRows(db, domain_of)
        self._reprioritiser = Reprioritiser(db, prioritiser)
        self._foreign = None if ownership is None else Foreign(db, ownership, lambda host: domain_of(host)[1])
        try:
            self._priorities = Reprioritiser(db, prioritiser)
            self._links = LinkCounts(db, self._hosts, prioritiser, clock, targets_at_once, self._foreign)
            self._read_counters()
            self._catch_up()
        except BaseException:
            db.close()
            raise

    def _read_counters(self) -> None:
        db = self._db
        self._warc: tuple[str, int] = ("", 0)  # name and id of the file that was last written to
        self._archived: _Archived | None = None  # of the batch whose transaction is to come
        self._ended = False
        self._number: int = db.fetch_value("counter", "commits")
        # Ids are given out in order and never again: a known URL and a transaction that is rolled back leave gaps.
        self._next_ids: dict[int, int] = {}  # by partition
        # Stamps never fall, so a reader that remembers how far it has read misses nothing that is added later.
        lowest = 1 if self._prioritiser.by_score else 0
        self._stamp: float = db.fetch_value("newest_place", lowest, self._clock.now())

    def _catch_up(self) -> None:
        """Count the links that a crash left uncounted."""
        with self._transaction():
            if self._links.has_uncounted():
                self._links.count_all(self._next_stamp(self._clock.now()))

    # --- partitions of a store that workers share ---------------------------------------------------

    def on_partitions_taken(self) -> None:
        """Partitions were taken: others have written their rows so far. Raises StoreFailed; to be called again then."""
        self.forget_rows()
        lowest = 1 if self._prioritiser.by_score else 0
        newest: float = self._db.fetch_value("newest_place", lowest, self._clock.now())
        self._stamp = max(self._stamp, newest)
        self._links.reload()

    @property
    def has_uncounted(self) -> bool:
        """Whether links of pages in partitions of this worker are not counted yet."""
        return self._links.waiting > 0

    def forget_rows(self) -> None:
        """Rows of partitions that were given up, or are taken, may have been changed by others."""
        self._hosts.clear_cache()
        self._next_ids.clear()

    def end(self, work: Callable[[Database], None]) -> None:
        """The last transaction of a worker, after all its links are counted. Raises StoreFailed."""
        self.conclude(work)
        self._ended = True

    def conclude(self, work: Callable[[Database], None]) -> None:
        """As `run`, after all links are counted."""
        self._count_rest()
        self.run(work)

    def _count_rest(self) -> None:
        with self._transaction():
            self._links.count_all(self._stamp)
            self._record_moves()

    def run(self, work: Callable[[Database], T]) -> T:
        """Run statements in a transaction of their own, behind the fence. Raises StoreFailed; then nothing of it is on
        record."""
        with self._transaction():
            return work(self._db)

    def create_host(self, host: HostKey) -> int:
        """In the work of `run`: create the row of a host. Returns 0 if there is one, else 1, for the counter `hosts`;
        the caller counts it."""
        before = self._hosts.created
        self._hosts.find_or_create(host)
        return self._hosts.created - before

    def close(self) -> None:
        """Count the links that are not counted yet, and close the archive and the database."""
        if not self._ended:
            with suppress(StoreFailed, WorkerEnded):  # what cannot be counted now is counted on opening
                self._count_rest()
        self._captures.close()
        self._db.close()

    def commit(self, batch: Batch, now: Instant) -> Committed:
        began = self._clock.monotonic()
        archived = self._archive(batch)
        stamp = self._next_stamp(now)
        touched: _Touched = {}
        counts = Counter(batch.counters)
        hosts_before = self._hosts.created
        with self._transaction():
            self._add_seeds(batch, now)
            new_elsewhere: frozenset[Url] = frozenset()
            if self._foreign is not None:
                if batch.seeds:
                    # Seeds may extend the scope. The lock keeps the crawl open while URLs are added from outside.
                    self._db.execute("tell_workers")
                    new_elsewhere = self._foreign.new_seeds(batch)
                if any(order.to_state is UrlState.QUEUED for order in batch.bulk_changes):
                    self._db.execute("share_crawl")
                self._foreign.take_out(batch.received)
                batch = self._foreign.keep_own(batch)
            added = self._add_urls(batch, batch.candidates, touched, now)
            returned = 0
            if batch.returning:
                back = self._add_urls(batch, batch.returning, touched, now)
                returned = len(back)
                added += back
            new_urls = len(added)
            new_seeds = _seeds_among(added) | new_elsewhere if batch.seeds else frozenset()
            valued = save_sitemaps(self._db, self._hosts, batch)
            reported = self._bring_forward(batch, counts)
            new_hosts = self._hosts.created - hosts_before
            counts["discovered"] += new_urls
            counts["hosts"] += new_hosts
            counts["state:queued"] += new_urls
            counts["commits"] += 1
            captured: list[tuple[int, str, int, int]] = []
            written = self._settle(batch.settlements, archived.captures, counts, touched, captured)
            self._update_hosts(batch)
            ordered: Counter[str] = Counter()
            forgiven = set()
            withdrawn: list[tuple[HostId, int]] = []
            for order in batch.bulk_changes:
                mine = order if self._foreign is None else self._foreign.keep_own_change(order)
                for entry in apply_change(self._db, mine, self._prioritiser.standing, Instant(stamp), ordered):
                    forgiven.add(entry[0])
                    _touch(touched, *entry)
                withdrawn += mine.withdrawn
                order.changed = mine.changed + len(order.url_ids) - len(mine.url_ids)
            if ordered:
                counts.update(ordered)
            changes = self._links.add(batch.links, stamp)
            if batch.gains:
                changes.extend(self._links.add_gains(batch.gains, stamp))
            if batch.count_links:
                changes.extend(self._links.count_all(stamp))
            if valued:
                changes.moved.extend(self._priorities.update_listed(valued, stamp))
            again, next_date = self._requeue(batch.requeue, touched)
            self._enter_fronts(touched)
            moved, reordered_to = changes.moved, None
            if batch.reorder_after is not None:
                reordered, reordered_to = self._reprioritiser.reorder_some(batch.reorder_after, stamp)
                moved = moved + reordered
            by_score, touch = self._prioritiser.by_score, partial(_touch, touched)
            retire_hosts(self._db, batch.retired, stamp, touch, by_score=by_score)
            self._db.write_rows("count", [(name, n) for name, n in counts.items() if n])
            if self._foreign is not None and (pages := counts["state:stored"] + counts[REFRESHING]):
                self._db.execute("count_stored", pages)
            self._db.write_rows("set_fact", [(self._fact_name(name), value) for name, value in batch.facts.items()])
            self._db.write_rows("save_refused", batch.refused)
            for order_id, answer in batch.answers.items():
                answer_order(self._db, order_id, answer(new_seeds))
            for name, length in archived.lengths.items():
                self._db.execute("commit_warc", self._warc_id(name), length)
            self._record_moves()
            host_counts = self._host_counts(batch, touched) if self._prioritiser.has_host_term else []
        self._captures.committed()
        self._archived = None
        self._number += 1
        return Committed(
            number=self._number,
            touched=[Touched(host_id, front, place) for (host_id, front), place in touched.items()],
            settled=[(s.host_id, s.url_id) for s in batch.settlements],
            retired=[host.host_id for host in batch.retired],
            moved=moved,
            linked=changes.linked,
            host_counts=host_counts,
            new_urls=new_urls,
            new_hosts=new_hosts,
            written_bytes=written,
            seconds=self._clock.monotonic() - began,
            bulk_counts=ordered,
            withdrawn=withdrawn,
            restored_hosts=frozenset(forgiven),
            new_seeds=new_seeds,
            requeued=again.states,
            next_due=next_date,
            requeued_by_host=again.hosts,
            postponed=again.postponed,
            skipped=again.skipped,
            requeued_to=again.to,
            replanned_to=again.replanned_to,
            reported=reported,
            sent=() if self._foreign is None else self._foreign.urls,
            returned=returned,
            reordered_to=reordered_to,
            captured=captured,
        )

    def _next_stamp(self, now: Instant) -> float:
        self._stamp = math.nextafter(max(self._stamp, now), math.inf)
        return self._stamp

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing of it, in the tables and in what is remembered of them."""
        try:
            with self._db.transaction():
                yield
        except BaseException:
            self._hosts.clear_cache()  # rows made in the transaction were never committed
            with suppress(StoreFailed):
                self._links.reload()
            self._warc = ("", 0)  # its row may be gone
            raise

    # --- the archive ------------------------------------------------------------------------------

    def _archive(self, batch: Batch) -> _Archived:
        """Put the records of a batch into the archive, unless they are there because its transaction has failed."""
        if self._archived is not None and self._archived.batch is batch:
            return self._archived
        try:
            if self._archived is not None:  # of a batch that was given up
                self._archived = None
                self._captures.roll_back()
            captures = self._append_captures(batch.settlements)
            self._archived = _Archived(batch, captures, self._captures.flush())
        except BaseException:
            self._captures.roll_back()
            raise
        return self._archived

    def _append_captures(self, settlements: list[Settlement]) -> list[tuple[Capture, Location] | None]:
        """The captures with their records, and where those are. A duplicate refers to the first capture of its
        document, and a page that is what it was to its own."""
        originals = Originals(self._db, settlements)
        append, duplicate = self._captures.append, UrlState.DUPLICATE
        found: list[tuple[Capture, Location] | None] = []
        for s in settlements:
            capture = s.capture
            if capture is not None and s.kept:
                capture = self._unchanged(capture, s.url_id)
            elif capture is not None and s.state is duplicate:
                capture = originals.revisit(capture, s.digest)
            found.append(None if capture is None else (capture, append(capture)))
        return found

    def _unchanged(self, capture: Capture, url_id: int) -> Capture | None:
        """The capture of a page that is what it was; None if it is not known when that was captured."""
        original = original_of(self._db, url_id)
        if original is None:
            return None
        digest = original.payload_digest if capture.response.status == 304 else capture.payload_digest
        return capture._replace(original=original, payload_digest=digest)

    # --- the parts of a transaction ---------------------------------------------------------------

    def _add_seeds(self, batch: Batch, now: Instant) -> None:
        self._db.write_rows("add_seed", [(s.url, s.text, s.where, now) for s in batch.seeds])

    def _add_urls(self, batch: Batch, candidates: list[Candidate], touched: _Touched, now: Instant) -> list[_NewRow]:
        """Insert what is new; a URL that is known already is ignored here, and only here. Returns the new rows.

        A URL found on a page whose links are counted later gets the position that this link gives it, or nearly every
        URL would be moved as soon as the link is counted. A candidate that turns out to be known still counts among the
        URLs of its host that were known before the others of the batch."""
        if not candidates:
            return []
        stamp, standing = self._stamp, self._prioritiser.standing
        sources = self._links.sources({c.found_on for c in candidates if c.found_on})
        linking = self._links.foresee(batch.links, sources)
        listed = {hint.fingerprint: hint.priority for hint in batch.hints} if batch.hints else {}
        homes = self._hosts.find_or_create_all([c.host for c in candidates])
        known = self._hosts.known_urls([host_id for host_id, _ in homes])
        rows: list[_NewRow] = []
        ids = self._new_ids([domain_id for _, domain_id in homes])
        page: int | None = -1  # where the last one was found
        for url_id, candidate, (host_id, domain_id) in zip(ids, candidates, homes, strict=True):
            url, _, fingerprint, depth, hops, via, found_on, sitemap, modified = candidate
            if found_on != page:
                page = found_on
                _, of_host, _, steps_there, _ = sources.get(found_on, _NO_SOURCE)
                links, of_domain, credit, share = linking.get(found_on, _NO_LINK)
                credit += BIRTH_CREDIT
            steps = 0
            if host_id == of_host:
                steps = steps_there if via is _REDIRECT else steps_there + 1
            ordinal = known[host_id]
            known[host_id] = ordinal + 1
            listed_as = listed.get(fingerprint) if listed else None
            age = None if modified is None else max(0.0, now - modified)
            from_others = 1 if links and domain_id != of_domain else 0
            front, priority, place = standing(_facts(UrlFacts, (
                url_id, url, depth, links, from_others, credit, 0, 0, share, steps, ordinal, NO_HOST, listed_as, age
            )))  # fmt: skip
            if place is None:
                place = stamp
            rows.append((
                url_id, host_id, domain_id, fingerprint, url, front, stamp, place, priority,
                depth, hops, int(via), found_on, now, sitemap, modified, steps, ordinal,
            ))  # fmt: skip
        new = self._db.write_rows("add_url", rows)
        if new < len(rows):
            known_after_all = {url_id for (url_id,) in self._db.read_rows("without_row", [(row[0],) for row in rows])}
            self._hosts.forget_known({row[1] for row in rows if row[0] in known_after_all})
            rows = [row for row in rows if row[0] not in known_after_all]
        for row in rows:
            _touch(touched, row[1], row[5], row[7])
        of_hosts = Counter([row[1] for row in rows])
        self._db.write_rows("count_new", [(host_id, n, n) for host_id, n in of_hosts.items()])
        return rows

    def _new_ids(self, domains: Iterable[int]) -> list[int]:
        """An id for a URL of each of these domains. It carries the partition if the id of the domain does."""
        found = []
        next_ids = self._next_ids
        for domain_id in domains:
            partition = domain_id >> ID_BITS
            url_id = next_ids.get(partition)
            if url_id is None:
                first = partition << ID_BITS
                url_id = 1 + (self._db.fetch_value("last_url_between", first, first + (1 << ID_BITS)) or first)
            next_ids[partition] = url_id + 1
            found.append(url_id)
        return found

    def _host_counts(self, batch: Batch, touched: _Touched) -> list[HostCount]:
        """Of the hosts that the batch may have given URLs or outcomes."""
        changed = {s.host_id for s in batch.settlements} | {host_id for host_id, _ in touched}
        return [HostCount(*row) for row in self._db.read_rows("host_counts_of", [(host_id,) for host_id in changed])]

    def _settle(
        self,
        settlements: list[Settlement],
        archived: Sequence[tuple[Capture, Location] | None],
        counts: Counter[str],
        touched: _Touched,
        captured: list[tuple[int, str, int, int]],
    ) -> int:
        """`archived` are the captures of these settlements. Returns the bytes of their records; `captured` gets those
        of documents."""
        updates, moves, failures, contents, captures = [], [], [], [], []
        visits: list[tuple[object, ...]] = []
        kept: list[tuple[object, ...]] = []
        tries: list[tuple[object, ...]] = []  # answered, but in vain
        written = 0
        queued, stored, dead = UrlState.QUEUED, UrlState.STORED, UrlState.DEAD
        fronts = self._fronts_of([s for s in settlements if s.state is queued])
        for s, found in zip(settlements, archived, strict=True):
            at: Location | None = None
            warc_id: int | None = None
            # Named once: a field of a named tuple costs as much as ten variables, and a page has sixty uses of these.
            url_id, state, was, unchanged = s.url_id, s.state, s.previous_state, s.kept
            if found is not None:
                capture, at = found
                written += at.length
                warc_id = self._warc_id(at.file)
                known = capture.original is not None
                of = (url_id, known, capture.response.started, capture.payload_digest)
                captures.append((warc_id, at.offset, at.length, *of))
                if not known:
                    captured.append((url_id, *at))
            available_at: float | None = s.available_at
            front: int | None = None
            place: float | None = None
            if state is queued:
                front = self._prioritiser.front_until_due(fronts.get(url_id, s.front))
                place = available_at = max(available_at or 0.0, self._stamp)
                _touch(touched, s.host_id, front, place)
            status, digest, reason = s.status, s.digest, s.reason
            answered = status is not None
            learnt = digest if answered and not unchanged and not s.noise else None
            updates.append(
                (
                    state,
                    available_at,
                    front,
                    place,
                    s.tries,
                    reason,
                    answered,
                    learnt,
                    s.planned_gap,
                    s.rate_shape,
                    s.rate_span,
                    _date(s.last_modified, s.at),
                    url_id,
                )
            )
            moves.append((state, answered, url_id))
            if state is not was:
                counts[was.counter] -= 1
                counts[state.counter] += 1
            if answered and unchanged:
                kept.append((s.at, s.took, s.etag, s.last_modified, url_id))
            elif answered:
                in_vain = state is queued or state is dead
                (tries if in_vain else visits).append(
                    (
                        *(url_id, s.at, status, s.size, s.took, s.mime, digest, s.title, s.etag, s.last_modified),
                        *(s.duplicate_of, s.redirect_to, s.truncated, s.unverified or None, s.replaced or None),
                        *(s.deep_links or None, s.language, s.canonical, s.refused),
                        *((warc_id, at.offset, at.length) if at else (None, None, None)),
                    )
                )
            if state is stored and digest is not None and not unchanged:
                contents.append((digest, url_id, warc_id, at.offset if at else None))
            if reason is not None and not (unchanged and answered):
                failures.append((url_id, s.at, reason, status, s.detail))
        db = self._db
        db.write_rows("count_moves", moves)  # compares with what the URLs were, so it comes first
        db.write_rows("settle_url", updates)  # looks at the visit before this one, so it comes first
        db.write_rows("record_visit", visits)
        db.write_rows("record_try", tries)
        db.write_rows("keep_visit", kept)
        db.write_rows("record_long_link", [(s.url_id, *link) for s in settlements for link in s.long_links])
        db.write_rows("record_failure", failures)
        db.write_rows("record_capture", captures)
        db.write_rows("own_content", contents)
        self._sign(settlements)
        return written

    def _sign(self, settlements: list[Settlement]) -> None:
        """Keep the signatures of documents, and none of what has no text any more."""
        signed: list[tuple[object, ...]] = []
        unsigned = []
        for s in settlements:
            if s.signature is not None:
                signed.append((s.url_id, s.signature, s.near_duplicate_of, s.distance))
            elif s.state is UrlState.STORED and not s.kept:
                unsigned.append((s.url_id,))
        self._db.write_rows("save_signature", signed)
        self._db.write_rows("delete_signature", unsigned)

    def _fronts_of(self, settlements: list[Settlement]) -> dict[int, int]:
        """The front queues of URLs that may have moved while they were out."""
        if not self._prioritiser.moved_by_links:
            return {}
        rows: list[Any] = self._db.read_rows("fronts_of", [(s.url_id,) for s in settlements])
        return dict(rows)

    def _update_hosts(self, batch: Batch) -> None:
        db = self._db
        clocks = [(*clock[1:], host_id) for host_id, clock in batch.hosts.items()]
        db.write_rows("set_host_clock", clocks)
        accesses = [(n, domain) for domain, n in batch.page_requests.items()]
        db.write_rows("count_accesses", accesses)
        db.write_rows("count_suffix_visits", accesses)
        if batch.robots:
            db.write_rows("save_robots", [record[:-1] for record in batch.robots])
        if batch.sitemap_guesses:
            db.write_rows("save_guess", batch.sitemap_guesses)
        save_learned(db, batch, self._stamp)
        db.write_rows("save_changing", [(text, host_id) for host_id, text in batch.change_histories.items()])

    def _enter_fronts(self, touched: _Touched) -> None:
        rows = [(host_id, front, place) for (host_id, front), place in touched.items()]
        self._db.write_rows("enter_front", rows)

    def _requeue(self, order: RequeueOrder | None, touched: _Touched) -> tuple[RequeueResult, float | None]:
        if order is None:
            return RequeueResult(), None
        db, touch = self._db, partial(_touch, touched)
        found = requeue_due(
            *(db, self._prioritiser, order, self._stamp, touch),
            postpone=self._postpone,
            replan=self._replan,
        )
        return found, next_due(self._db, order)

    def _bring_forward(self, batch: Batch, counts: Counter[str]) -> int:
        if not batch.hints:
            return 0
        found = bring_forward(self._db, self._hosts, batch, self._date_of_reported, self._stamp)
        counts["reported"] += found
        return found

    def requeue_missing(self, now: Instant, most: int = 100_000) -> int:
        """Queue the missing URLs that are due, the oldest first. Returns their number."""
        stamp = self._next_stamp(now)
        touched: _Touched = {}
        order = RequeueOrder(now, most, only_missing=True)
        touch = partial(_touch, touched)
        with self._transaction():
            found = requeue_due(self._db, self._prioritiser, order, stamp, touch)
            self._enter_fronts(touched)
        return sum(n for _, n in found.states)

    def _record_moves(self) -> None:
        if moves := self._captures.moves():
            self._db.write_rows("note_spooled", [(name,) for name, spooled in moves.items() if spooled])
            self._db.write_rows("note_stored", [(name,) for name, spooled in moves.items() if not spooled])

    def _warc_id(self, name: str) -> int:
        if self._warc[0] != name:
            known: int | None = self._db.fetch_value("warc_id", name)
            self._warc = (name, self._db.insert("add_warc", name) if known is None else known)
        return self._warc[1]


def _date(last_modified: str | None, now: Instant) -> Instant | None:
    """When a page was modified, as its server said; None for a date that cannot be."""
    date = None if last_modified is None else http_date(last_modified, now)
    return date if date is not None and date <= now else None


def _seeds_among(rows: Iterable[_NewRow]) -> frozenset[Url]:
    return frozenset(Url(row[_URL]) for row in rows if row[_VIA] == _SEED)


def _touch(touched: _Touched, host_id: HostId, front: int, place: float) -> None:
    queue = (host_id, front)
    if place < touched.get(queue, math.inf):
        touched[queue] = place
