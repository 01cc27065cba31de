"""Counts of the domains whose hosts have a back queue: for per-domain limits and for orderings with a domain term.

The store has the counts of all domains. Only those of hosts in memory are here, so a crawl over a million domains holds
no more of them than the frontier has back queues; plus the visits of public suffixes, of which there are some
thousands.
"""

from collections import Counter
from collections.abc import Mapping

from gossamer.model.facts import DomainFacts
from gossamer.model.task import HostRecord


class DomainTable:
    """The facts of a domain, from when its first host gets a back queue until its last host gives it up.

    A load may be older than commits reported in the meantime. So reports are kept while a load is pending, and those
    that the load does not include are added to what it returns.
    """

    def __init__(self, suffix_visits: Mapping[int, int] | None = None) -> None:
        self._facts: dict[int, DomainFacts] = {}
        self._hosts: Counter[int] = Counter()  # domain -> its hosts in memory
        self._left: list[int] = []  # whose last host left during a load
        self._reports: list[tuple[int, int, int, int]] = []  # (commit, domain, links, from others) during a load
        self._loading = False
        self.suffix_visits: Counter[int] = Counter(suffix_visits or {})

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, domain_id: int) -> DomainFacts:
        return self._facts[domain_id]

    def begin_load(self) -> None:
        self._loading = True

    def end_load(self) -> None:
        self._loading = False
        self._reports.clear()
        for domain_id in self._left:
            self._drop(domain_id)
        self._left.clear()

    def enter(self, record: HostRecord, commit: int) -> None:
        """A host got a back queue; its record is as of a commit."""
        domain_id = record.domain_id
        self._hosts[domain_id] += 1
        if domain_id in self._facts:
            return
        facts = self._facts[domain_id] = record.domain
        for number, domain, links, from_others in self._reports:
            if domain == domain_id and number > commit:
                facts.links += links
                facts.links_from_others += from_others

    def leave(self, domain_id: int) -> None:
        """A host gave up its back queue, and that is committed."""
        self._hosts[domain_id] -= 1
        if self._loading:
            self._left.append(domain_id)
        else:
            self._drop(domain_id)

    def _drop(self, domain_id: int) -> None:
        if not self._hosts[domain_id]:
            del self._hosts[domain_id]
            self._facts.pop(domain_id, None)

    def count_visit(self, domain_id: int, suffix_id: int, n: int = 1) -> None:
        """Count a page request of the domain; -1 takes one back that did not reach the host."""
        self._facts[domain_id].visits += n
        self.suffix_visits[suffix_id] += n

    def count_links(self, commit: int, domain_id: int, links: int, from_others: int) -> bool:
        """A commit counted links to the domain. Returns whether the domain is in memory."""
        if self._loading:
            self._reports.append((commit, domain_id, links, from_others))
        facts = self._facts.get(domain_id)
        if facts is None:
            return False
        facts.links += links
        facts.links_from_others += from_others
        return True
