"""Stores the link graph and counts links: how many lead to each URL and domain, and the credit that flows along them.

With most orderings by score, links are counted in the commit that brings them. Otherwise
they are kept as bytes in the table `uncounted` until there are many, or some seconds have passed: the links of a site
repeat from page to page, and merged they cost a fraction. They leave that table in the transaction that counts them, so
a crash neither loses nor doubles one; what it leaves there is counted when the store is opened, by the same code.

Hot: benchmarks/bench_store.py.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.model.batch import Linked, LinkGain, Moved
from gossamer.model.facts import credit_per_link, share_per_link, steps_from
from gossamer.model.partition import ID_BITS
from gossamer.model.settlement import PageLinks
from gossamer.model.units import Fingerprint, HostKey
from gossamer.store.ports import Database, Prioritiser
from gossamer.store.row_formats import pack_numbers, unpack_numbers
from gossamer.store.table.foreign import Foreign
from gossamer.store.table.hosts import HostRows
from gossamer.store.table.priorities import Reprioritiser

_HEAD = 7  # numbers before the targets of a page


class LinkedPage(NamedTuple):
    """A page whose links are to be counted. Only targets in domains that have a row can be: the others are left out,
    unless URLs of the domain were sent to its owner.

    Of each kind, the first targets (`fresh_...` of them) are those that were not on the page when it was fetched
    before: the others were counted then, and only get credit.
    """

    url_id: int
    domain_id: int
    parts: int  # all links of the page, into how many its credit goes
    fresh_own: int
    fresh_others: int
    own: Sequence[int]  # fingerprints of the targets in the page's domain
    others: Sequence[int]  # in other domains
    domains: Sequence[int | str]  # of `others`, in the same order; the name of one without a row


_NAMES = -1
"""In place of a page: the record has names of domains, to which the negative numbers in other records refer."""


def pages_bytes(pages: Iterable[LinkedPage]) -> bytes:
    """The pages of a commit, all numbers in a row."""
    numbers: list[int | str] = []
    for url_id, domain_id, parts, fresh_own, fresh_others, own, others, domains in pages:
        numbers += (url_id, domain_id, parts, fresh_own, fresh_others, len(own), len(others))
        numbers += own
        numbers += others
        numbers += domains
    try:
        return pack_numbers(numbers)  # type: ignore[arg-type]
    except TypeError:
        return pack_numbers(_with_names(numbers))


def _with_names(numbers: list[int | str]) -> list[int]:
    """The same with a first record that has the names."""
    names: dict[str, int] = {}
    referring = [n if isinstance(n, int) else names.setdefault(n, -1 - len(names)) for n in numbers]
    text = " ".join(names).encode()
    packed = unpack_numbers(text.ljust(-(-len(text) // 8) * 8, b" "))
    return [_NAMES, 0, 0, 0, 0, len(packed), 0, *packed, *referring]


def pages_from(stored: bytes) -> Iterator[LinkedPage]:
    """The way back. Raises StoreFailed for what cannot be pages."""
    numbers = unpack_numbers(stored)
    names: list[str] = []
    at = 0
    while at < len(numbers):
        url_id, domain_id, parts, fresh_own, fresh_others, own, others = numbers[at : at + _HEAD]
        first = at + _HEAD
        second = first + own
        third = second + others
        at = third + others
        if url_id == _NAMES:
            names = pack_numbers(numbers[first:second]).decode().split()
            continue
        domains: Sequence[int | str] = numbers[third:at]
        if names:
            domains = [names[-1 - n] if n < 0 else n for n in numbers[third:at]]
        yield LinkedPage(
            url_id,
            domain_id,
            parts,
            fresh_own,
            fresh_others,
            numbers[first:second],
            numbers[second:third],
            domains,
        )


# At 170 pages of 60 links a second both come to the same. The more at once, the more of a site's links are the same:
# with 50,000, pages of a thousand hosts cost a third less than with 20,000 (benchmarks/bench_store.py); with 200,000
# the whole path some hundredths less than with 100,000.
TARGETS_AT_ONCE = 200_000
SECONDS_AT_MOST = 20.0


class _Gains(NamedTuple):
    """What the URLs of one domain get, by fingerprint; all of them are in `credit`."""

    links: Counter[int]
    others: Counter[int]  # of the links, those from other domains
    credit: defaultdict[int, int]
    sums: defaultdict[int, int]  # of shares (`model.facts.share_per_link`)
    steps: dict[int, tuple[int, int]]  # a host and the least that links from it give; or `_ELSEWHERE`


_ELSEWHERE = (0, 0)
"""Links from another domain, or from two hosts: one of them is not the target's own."""


class _Steps(NamedTuple):
    """What the links of one page within its domain give to their targets."""

    steps: int
    host_id: int
    domain_id: int
    targets: Sequence[int]


class Source(NamedTuple):
    """A page on which URLs were found."""

    fingerprint: int
    host_id: int
    domain_id: int
    steps: int
    credit: int


class FirstLink(NamedTuple):
    """What a page whose links are not counted yet gives to each of its targets."""

    links: int  # 1, or 0 if they are counted at once
    domain_id: int  # of the page
    credit: int
    share: int


class LinkChanges(NamedTuple):
    """What counting has changed."""

    moved: list[Moved]
    linked: list[Linked]

    def extend(self, more: "LinkChanges") -> None:
        self.moved.extend(more.moved)
        self.linked.extend(more.linked)


class LinkCounts:
    """Stores the links of pages and counts them, within the writer's transactions."""

    def __init__(
        self,
        db: Database,
        hosts: HostRows,
        prioritiser: Prioritiser,
        clock: Clock,
        targets_at_once: int,
        foreign: Foreign | None = None,
    ) -> None:
        """`foreign`: in a store that workers share."""
        self._db = db
        self._foreign = foreign
        self._hosts = hosts
        self._at_once = prioritiser.by_score and not prioritiser.defers_links
        self._foresees = prioritiser.moved_by_links and not self._at_once
        self._priorities = Reprioritiser(db, prioritiser)
        self._clock = clock
        self._enough = targets_at_once
        self._counted_at = clock.monotonic()
        self.waiting = 0  # targets in `uncounted`
        self.reload()

    def reload(self) -> None:
        """Read how many targets are uncounted: at the start, and after a rollback."""
        self.waiting = self._db.fetch_value("uncounted_targets")

    def add(self, pages: list[PageLinks], stamp: float) -> LinkChanges:
        """Store the links of pages and count them, now or later; in the order of the pages, so that the second passes
        on the credit that it gets from the first."""
        found = self._store(pages) if pages else []
        if self._at_once:
            return self._count(found, stamp) if found else LinkChanges([], [])
        targets = sum(len(page.own) + len(page.others) for page in found)
        if found:
            self._put_off(found)
            self.waiting += targets
        seconds = self._clock.monotonic() - self._counted_at
        if self.waiting >= self._enough or (self.waiting and seconds >= SECONDS_AT_MOST):
            return self.count_all(stamp)
        return LinkChanges([], [])

    def add_gains(self, gains: Sequence[LinkGain], stamp: float) -> LinkChanges:
        """Count what links on pages of other workers give to URLs of this one. A domain without a row has no URLs."""
        names = list(dict.fromkeys(gain.domain for gain in gains if isinstance(gain.domain, str)))
        known = dict(zip(names, self._hosts.find_domains([HostKey(name) for name in names]), strict=True))
        merged: dict[tuple[int, int], list[int]] = {}
        linked: Counter[int] = Counter()
        others: Counter[int] = Counter()
        for domain, target, *gained in gains:
            domain_id = known[domain] if isinstance(domain, str) else domain
            if domain_id:
                before = merged.get((domain_id, target), (0, 0, 0, 0))
                merged[domain_id, target] = [a + b for a, b in zip(before, gained, strict=True)]
                linked[domain_id] += gained[0]
                others[domain_id] += gained[1]
        rows = [(*target, *gained, *_ELSEWHERE) for target, gained in merged.items()]
        return self._save(rows, [Linked(domain_id, n, others[domain_id]) for domain_id, n in linked.items()], stamp)

    def _put_off(self, found: list[LinkedPage]) -> None:
        by_partition: defaultdict[int, list[LinkedPage]] = defaultdict(list)
        for page in found:
            by_partition[page.url_id >> ID_BITS].append(page)
        rows = [
            (partition, sum(len(page.own) + len(page.others) for page in pages), pages_bytes(pages))
            for partition, pages in by_partition.items()
        ]
        self._db.write_rows("put_off", rows)

    def sources(self, url_ids: Iterable[int]) -> dict[int, Source]:
        """The pages with these ids, as far as they have rows."""
        rows = self._db.read_rows("sources_of", [(url_id,) for url_id in url_ids])
        return {url_id: Source(*rest) for url_id, *rest in rows}

    def foresee(self, pages: list[PageLinks], sources: Mapping[int, Source]) -> dict[int, FirstLink]:
        """What the links of these pages will give to their targets, by page, if they are counted later."""
        if not self._foresees:
            return {}
        found = {}
        for page in pages:
            links = len(page.fingerprints)
            if links and page.url_id in sources:
                credit = credit_per_link(sources[page.url_id].credit, links)
                found[page.url_id] = FirstLink(1, page.domain_id, credit, share_per_link(links))
        return found

    def has_uncounted(self) -> bool:
        """Whether pages are uncounted, even if they have no targets."""
        return self._db.fetch_one("any_uncounted") is not None

    def count_all(self, stamp: float) -> LinkChanges:
        """Count all links that are not counted yet."""
        stored = self._db.fetch_all("uncounted_pages")
        self._db.execute("all_counted")
        self.waiting = 0
        self._counted_at = self._clock.monotonic()
        return self._count([page for (pages,) in stored for page in pages_from(pages)], stamp)

    def _store(self, pages: list[PageLinks]) -> list[LinkedPage]:
        """Store the pages in the link graph. Returns what is to be counted."""
        earlier = {
            url_id: bytes.fromhex(targets)
            for url_id, targets in self._db.read_rows("links_of", [(page.url_id,) for page in pages])
        }
        found, rows = [], []
        # All at once; they are remembered.
        self._hosts.find_domains(list(dict.fromkeys(chain.from_iterable([page.hosts for page in pages]))))
        for url_id, domain_id, prints, hosts in pages:
            stored = pack_numbers(prints)
            rows.append((url_id, stored))
            domains: Sequence[int | str] = self._hosts.find_domains(hosts)
            if self._foreign is not None and 0 in domains:
                domains = self._with_names(domains, hosts)
            own = [p for p, d in zip(prints, domains, strict=True) if d == domain_id]
            others = [(p, d) for p, d in zip(prints, domains, strict=True) if d != domain_id and d]
            fresh_own, fresh_others = len(own), len(others)
            if url_id in earlier:
                before = set(unpack_numbers(earlier[url_id]))
                own.sort(key=before.__contains__)
                others.sort(key=lambda target: target[0] in before)
                fresh_own -= sum(1 for p in own if p in before)
                fresh_others -= sum(1 for p, _ in others if p in before)
            earlier[url_id] = stored
            found.append(
                LinkedPage(
                    url_id,
                    domain_id,
                    len(prints),
                    fresh_own,
                    fresh_others,
                    own,
                    [p for p, _ in others],
                    [d for _, d in others],
                )
            )
        self._db.write_rows("save_links", rows)
        return found

    def _with_names(self, domains: Sequence[int | str], hosts: list[HostKey]) -> list[int | str]:
        """The names of domains without a row that may have one soon, because URLs of them are in an inbox."""
        assert self._foreign is not None
        has_sent = self._foreign.has_sent
        return [
            domain or (self._hosts.domain_name(host) if has_sent(host) else 0)
            for domain, host in zip(domains, hosts, strict=True)
        ]

    def _count(self, pages: list[LinkedPage], stamp: float) -> LinkChanges:
        gains = self._merged(pages)
        if self._foreign is not None:
            gains = self._send_foreign(gains, self._foreign)
        rows: list[tuple[int, ...]] = []
        for domain_id, (links, others, gained, sums, steps) in gains.items():
            assert isinstance(domain_id, int)
            for target, credit in gained.items():
                host_id, least = steps.get(target, _ELSEWHERE)
                n, from_others = links.get(target, 0), others.get(target, 0)
                rows.append((domain_id, target, n, from_others, credit, sums.get(target, 0), host_id, least))
        linked = [Linked(int(domain), gain.links.total(), gain.others.total()) for domain, gain in gains.items()]
        return self._save(rows, linked, stamp)

    def _save(self, rows: list[tuple[int, ...]], linked: list[Linked], stamp: float) -> LinkChanges:
        self._db.write_rows("count_links", rows)
        linked = [domain for domain in linked if domain.links]
        self._db.write_rows("count_domain_links", linked)
        return LinkChanges(self._priorities.update(rows, stamp), linked)

    def _send_foreign(self, gains: dict[int | str, _Gains], foreign: Foreign) -> dict[int | str, _Gains]:
        """Send what is for URLs of other workers, and return the rest."""
        own: dict[int | str, _Gains] = {}
        others: list[LinkGain] = []
        for domain, found in gains.items():
            if isinstance(domain, int) and foreign.owns_row(domain):
                own[domain] = found
                continue
            links, from_others, gained, sums, _ = found
            others += [
                LinkGain(domain, Fingerprint(fp), links[fp], from_others[fp], credit, sums[fp])
                for fp, credit in gained.items()
            ]
        foreign.send_gains(others)
        return own

    def _merged(self, pages: list[LinkedPage]) -> dict[int | str, _Gains]:
        """What is to be added to the targets in each domain. A page's own credit goes down to nothing."""
        known = self.sources({page.url_id for page in pages})
        gains: defaultdict[int | str, _Gains] = defaultdict(
            lambda: _Gains(Counter(), Counter(), defaultdict(int), defaultdict(int), {})
        )
        within: list[_Steps] = []
        for url_id, domain_id, parts, fresh_own, fresh_others, own, others, domains in pages:
            links, _, gained, sums, _ = gains[domain_id]
            credit = host = near = 0
            share = share_per_link(parts) if parts else 0
            if url_id in known:
                page, host, _, stood, stored = known[url_id]
                near = steps_from(stood, same_host=True)
                if parts:
                    credit = credit_per_link(stored + gained.get(page, 0), parts)
                gained[page] = -stored
            fresh = own[:fresh_own]
            links.update(fresh)
            for target in fresh:
                gained[target] += credit
                sums[target] += share
            for target in own[fresh_own:]:
                gained[target] += credit
            within.append(_Steps(near, host, domain_id, fresh))
            for number, (target, of_domain) in enumerate(zip(others, domains, strict=True)):
                links, from_others, gained, sums, _ = gains[of_domain]
                gained[target] += credit
                if number < fresh_others:
                    links[target] += 1
                    from_others[target] += 1
                    sums[target] += share
        _merge_steps(within, gains)
        return gains


def _merge_steps(within: list[_Steps], gains: Mapping[int | str, _Gains]) -> None:
    """The least steps that links from one host give to a target; `_ELSEWHERE` if they come from several hosts."""
    by_host: defaultdict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for steps, host_id, domain_id, targets in sorted(within, key=itemgetter(0), reverse=True):
        by_host[domain_id, host_id].update(dict.fromkeys(targets, (host_id, steps)))  # the least comes last
    for (domain_id, _), found in by_host.items():
        merged = gains[domain_id].steps
        elsewhere = merged.keys() & found.keys()
        merged.update(found)
        merged.update(dict.fromkeys(elsewhere, _ELSEWHERE))
    for _, others, _, _, merged in gains.values():
        merged.update(dict.fromkeys(others, _ELSEWHERE))
