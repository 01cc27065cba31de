"""What a commit has for partitions of other workers: it goes to their inboxes, in the same transaction.

Part of the writer's transactions. The owner of a partition decides by its own rules what becomes of a message, so
delivering one twice does no harm: a URL that it knows stays as it is. Gains of links are never delivered twice, because
their rows leave the table `uncounted` in the transaction that sends them.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from gossamer.model.batch import Batch, BulkChange, HintRecord, LinkGain, SitemapName
from gossamer.model.partition import ID_BITS, ForeignUrl
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Fingerprint, HostKey, Url
from gossamer.store.ports import Database, Ownership

URLS: Final = "urls"
GAINS: Final = "gains"
HINTS: Final = "hints"
NAMES: Final = "names"
CHANGES: Final = "order"

_HOSTS_REMEMBERED = 100_000
_T = TypeVar("_T")


class Foreign:
    """Sorts what a batch has by owner. Used from the store's thread only."""

    def __init__(self, db: Database, ownership: Ownership, partition_of: Callable[[HostKey], int]) -> None:
        self._db = db
        self._ownership = ownership
        self._partition_of = partition_of
        self._partitions: dict[HostKey, int] = {}
        self._sent: set[HostKey] = set()  # hosts of URLs that were sent
        self.urls: list[Fingerprint] = []  # those that the last `keep_own` has sent

    def has_sent(self, host: HostKey) -> bool:
        """Whether URLs of this host were sent: it may have a row soon, if it has none yet."""
        return host in self._sent

    def owns_row(self, row: int) -> bool:
        """Whether a domain, host or URL with this id is this worker's."""
        return self._ownership.owns(row >> ID_BITS)

    def partition(self, host: HostKey) -> int:
        partition = self._partitions.get(host)
        if partition is None:
            if len(self._partitions) >= _HOSTS_REMEMBERED:
                self._partitions.clear()
            partition = self._partitions[host] = self._partition_of(host)
        return partition

    def keep_own(self, batch: Batch) -> Batch:
        """What concerns hosts of this worker: the same batch, or a copy without the rest, which is sent. Clocks of
        hosts that another worker owns are not: only the owner writes them."""
        candidates, foreign = self._split(batch.candidates)
        returning, back = self._split(batch.returning)
        hints, foreign_hints = self._split(batch.hints)
        names, foreign_names = self._split(batch.sitemap_names)
        hosts = {host_id: clock for host_id, clock in batch.hosts.items() if self.owns_row(host_id)}
        self.urls = []
        for found in (foreign, back):
            self._send(URLS, found, _packed_url)
            self.urls += [candidate.fingerprint for some in found.values() for candidate in some]
            if len(self._sent) >= _HOSTS_REMEMBERED:
                self._sent.clear()
            self._sent.update(candidate.host for some in found.values() for candidate in some)
        self._send(HINTS, foreign_hints, list)
        self._send(NAMES, foreign_names, list)
        if not (foreign or back or foreign_hints or foreign_names) and len(hosts) == len(batch.hosts):
            return batch
        return replace(batch, candidates=candidates, returning=returning, hints=hints, sitemap_names=names, hosts=hosts)

    def new_seeds(self, batch: Batch) -> frozenset[Url]:
        """The seeds of a batch, before `keep_own`, that belong to other workers and are not known to them."""
        sent = [
            seed
            for seed in batch.candidates
            if seed.via is Via.SEED and not self._ownership.owns(self.partition(seed.host))
        ]
        known = {url for (url,) in self._db.read_rows("known_to_owners", [(s.host, s.fingerprint) for s in sent])}
        return frozenset(seed.url for seed in sent) - known

    def keep_own_change(self, change: BulkChange) -> BulkChange:
        """The change of URLs of this worker: the same, or a copy without the other URLs, whose owners get the rest."""
        others: defaultdict[int, list[int]] = defaultdict(list)
        for url_id in change.url_ids:
            if not self.owns_row(url_id):
                others[url_id >> ID_BITS].append(url_id)
        if not others:
            return change
        about = (change.from_state, change.to_state, change.reasons, change.to_reason)
        self._write([(part, CHANGES, json.dumps([[ids, *about]])) for part, ids in others.items()])
        return replace(change, url_ids=tuple(filter(self.owns_row, change.url_ids)), withdrawn=[])

    def send_gains(self, gains: Iterable[LinkGain]) -> None:
        """What links give to URLs in other partitions."""
        by_partition: defaultdict[int, list[LinkGain]] = defaultdict(list)
        for gain in gains:
            domain = gain.domain
            by_partition[domain >> ID_BITS if isinstance(domain, int) else self.partition(HostKey(domain))].append(gain)
        self._write([(part, GAINS, json.dumps(found)) for part, found in by_partition.items()])

    def take_out(self, received: Sequence[tuple[int, int]]) -> None:
        """Messages are in this commit: exactly these leave the inbox (`cluster.inbox`)."""
        if received:
            changed = self._db.execute("delete_from_inbox", [part for part, _ in received], [n for _, n in received])
            assert changed == len(received), f"{len(received)} messages were read, {changed} of them are still there"

    def _split(self, found: list[_T]) -> tuple[list[_T], dict[int, list[_T]]]:
        owns = self._ownership.owns
        own: list[_T] = []
        others: defaultdict[int, list[_T]] = defaultdict(list)
        for each in found:
            partition = self.partition(each.host)  # type: ignore[attr-defined]
            (own if owns(partition) else others[partition]).append(each)
        return (found if len(own) == len(found) else own), others

    def _send(self, kind: str, found: dict[int, list[_T]], pack: Callable[[_T], object]) -> None:
        self._write([(part, kind, json.dumps([pack(each) for each in some])) for part, some in found.items()])

    def _write(self, messages: list[tuple[int, str, str]]) -> None:
        if messages:
            parts, kinds, bodies = zip(*messages, strict=True)
            self._db.execute("send_to_inbox", list(parts), list(kinds), [body.encode() for body in bodies])


def _packed_url(found: Candidate) -> list[object]:
    url, _, _, depth, hops, via, found_on, sitemap, modified = found
    return [url, depth, hops, via, found_on, sitemap, modified]


class Unpacked(NamedTuple):
    """The contents of messages."""

    urls: list[ForeignUrl]
    gains: list[LinkGain]
    hints: list[HintRecord]
    names: list[SitemapName]
    changes: list[BulkChange]


def unpack(messages: Iterable[tuple[str, bytes]]) -> Unpacked:
    """The contents of messages, by kind and body, in their order."""
    found = Unpacked([], [], [], [], [])
    for kind, body in messages:
        rows = json.loads(body)
        if kind == URLS:
            found.urls.extend(ForeignUrl(url, depth, hops, Via(via), *rest) for url, depth, hops, via, *rest in rows)
        elif kind == GAINS:
            found.gains.extend(LinkGain._make(row) for row in rows)
        elif kind == HINTS:
            found.hints.extend(HintRecord._make(row) for row in rows)
        elif kind == NAMES:
            found.names.extend(SitemapName._make(row) for row in rows)
        elif kind == CHANGES:
            found.changes.extend(
                BulkChange(tuple(ids), UrlState(state), UrlState(to), tuple(reasons), because)
                for ids, state, to, reasons, because in rows
            )
    return found
