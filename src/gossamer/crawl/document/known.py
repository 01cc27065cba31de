"""Tiers of what is known about documents and links: memory, a cache that workers share, the store."""

from collections.abc import Awaitable, Callable, Sequence

from gossamer.crawl.observers import CrawlObserver
from gossamer.model.batch import Batch, Committed
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Via, Visit
from gossamer.model.units import HostKey, Instant
from gossamer.seen import Recent
from gossamer.store.ports import OwnerCache, SentLinks

SENT_IN_MEMORY = 1_000_000  # fingerprints, about 80 bytes each

_STORED, _SEED = UrlState.STORED, Via.SEED  # looking up a member costs as much as a call


class DocumentOwners(CrawlObserver):
    """Finds the URLs that own documents: in the cache, then in the store. Documents enter the cache after their commit;
    what the store had to be asked for enters it too."""

    def __init__(self, cache: OwnerCache, find_in_store: Callable[[list[bytes]], Awaitable[list[int | None]]]) -> None:
        self._cache = cache
        self._find_in_store = find_in_store
        self._settled: list[tuple[bytes, int]] = []  # in the open batch
        self._in_commit: list[tuple[bytes, int]] = []
        self.from_cache = 0  # documents found there ...
        self.from_store = 0  # ... and those that the store was asked for

    async def find(self, digests: list[bytes]) -> list[int | None]:
        """The URL that owns each document; None where none does. Raises StoreFailed."""
        found = await self._cache.find(digests)
        missing = [digest for digest, owner in zip(digests, found, strict=True) if owner is None]
        self.from_cache += len(digests) - len(missing)
        if not missing:
            return found
        self.from_store += len(missing)
        stored = dict(zip(missing, await self._find_in_store(missing), strict=True))
        if known := [(digest, owner) for digest, owner in stored.items() if owner is not None]:
            self._cache.add(known)
        return [stored.get(digest) if owner is None else owner for digest, owner in zip(digests, found, strict=True)]

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        digest = settlement.digest
        if settlement.state is _STORED and digest is not None and not settlement.kept:
            self._settled.append((digest, settlement.url_id))

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self._in_commit, self._settled = self._settled, []

    def committed(self, committed: Committed) -> None:
        self._cache.add(self._in_commit)
        self._in_commit = []


class SentLinkMemory:
    """Links that this worker has sent to other partitions, in a bounded exact memory; with `behind`, also those that
    others have sent (`SentLinks`)."""

    def __init__(self, behind: SentLinks | None = None, limit: int = SENT_IN_MEMORY) -> None:
        self._recent = Recent(limit)
        self._behind = behind
        self.from_memory = 0  # links found there ...
        self.from_behind = 0  # ... and in the next tier

    async def known(self, fingerprints: Sequence[int]) -> set[int]:
        recent = self._recent
        found = {each for each in fingerprints if each in recent}
        self.from_memory += len(found)
        if self._behind is not None and len(found) < len(fingerprints):
            others = await self._behind.known([each for each in fingerprints if each not in found])
            recent.update(others)
            self.from_behind += len(others)
            found |= others
        return found

    def add(self, fingerprints: Sequence[int]) -> None:
        self._recent.update(fingerprints)
        if self._behind is not None:
            self._behind.add(fingerprints)

    def clear(self) -> None:
        """The rules have changed: links that were refused by their owners may be welcome now. The scope of the next
        tier has to change too."""
        self._recent.clear()


class SentLinkTest(CrawlObserver):
    """Leaves links out of a batch that were put into the inboxes of their owners before, by this worker or another one
    (`SentLinkMemory`). Only what a commit has put there counts as sent. In-links are not affected."""

    def __init__(
        self, memory: SentLinkMemory, owns: Callable[[int], bool], partition_of: Callable[[HostKey], int]
    ) -> None:
        """`owns`: whether this worker owns a partition."""
        self.memory = memory
        self._owns = owns
        self._partition_of = partition_of
        self._rules = self._rules_in_commit = 0  # changes of the rules so far
        self.sent = 0  # links that no tier knew

    async def leave_out_sent(self, batch: Batch) -> None:
        """Before the batch is committed. Seeds stay, and so does what the batch has from an inbox."""
        self._rules_in_commit = self._rules
        own = {part for part, _ in batch.received}
        partitions: dict[HostKey, int] = {}
        foreign = []
        for candidate in batch.candidates:
            host = candidate.host
            part = partitions.get(host)
            if part is None:
                part = partitions[host] = self._partition_of(host)
            if part not in own and candidate.via is not _SEED and not self._owns(part):
                foreign.append(candidate.fingerprint)
        if foreign and (known := (await self.memory.known(foreign)).intersection(foreign)):
            batch.candidates = [each for each in batch.candidates if each.fingerprint not in known or each.via is _SEED]

    def committed(self, committed: Committed) -> None:
        self.sent += len(committed.sent)
        if self._rules_in_commit == self._rules:
            self.memory.add(committed.sent)

    def clear(self) -> None:
        """The rules have changed (`SentLinkMemory.clear`). What is in a commit was sent by the former ones."""
        self._rules += 1
        self.memory.clear()
