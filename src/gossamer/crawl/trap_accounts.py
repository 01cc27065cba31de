"""Trap accounts per host and domain, learned parameters and soft 404s. Hot: benchmarks/bench_traps.py.

`filter.trap_budget` has the rules; the accounts here count what the shapes of a host and the hosts of a domain have
cost. They are loaded with their host and stored every few pages, so that a restart does not forget what a trap has
cost.

Invariants: memory is bounded (`max_shapes`; the least recently used hosts are evicted to the store). A URL whose shape
is cut is not requested, and is stored as excluded, so that it can be requeued if the cut is lifted.
"""

from collections.abc import Callable, Iterator, Sequence

from gossamer.crawl.observers import CrawlObserver
from gossamer.dedup import SOFT_404, Soft404Detector
from gossamer.filter.canonical import end_of_authority, parse_canonical
from gossamer.filter.identity import Identities, LearnedParameter, ParameterLearner
from gossamer.filter.trap_budget import Cut, DomainBudget, HostBudget, PageValue, TemplateSketch, TrapPolicy
from gossamer.filter.url_shape import Shape, shape_of
from gossamer.model.batch import Batch, LearntParameter, RobotsRecord
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, Visit
from gossamer.model.units import Domain, HostId, HostKey, Instant, Url

# Looking up a member costs as much as a call, and these are used for every page.
_STORED, _NEW = UrlState.STORED, PageValue.NEW

_SAVE_EVERY = 16  # pages of a host, or hosts of a domain; a crash loses no more
_LOOK_EVERY = 16  # one of this many pages has its links examined; the first of a shape more often
_LINKS_LOOKED_AT = 24  # links examined, spread over the page
_LINKS_LOOKED_AT_FIRST = 8  # on small hosts
_FIRST_OF_HOST = 4  # pages of a small host that are examined
_MIN_LOOKS = 3
_MIN_OF_HOST = 10
_FIRST_LOOKS = 10
_MIXER = 0x9E3779B1
_MANY_HOSTS = 64  # of a domain, from which on links between its hosts are examined
_NO_DIGITS = str.maketrans("", "", "0123456789")
_SAME_DISTANCE = 1  # up to which a near-duplicate counts as the same text


class TrapAccounts:
    """The accounts of the hosts in memory. Owned by the event loop; no call waits."""

    def __init__(
        self,
        policy: TrapPolicy,
        *,
        domain_of: Callable[[HostKey], Domain],
        is_free: Callable[[HostKey], bool] = lambda host: False,
        max_shapes: int = 100_000,
    ) -> None:
        """`is_free`: hosts that are exempt from cuts."""
        self._policy = policy
        self._domain_of = domain_of
        self._is_free = is_free
        self._max_shapes = max_shapes
        self._hosts: dict[HostId, HostBudget] = {}  # least recently used first
        self._domains: dict[int, DomainBudget] = {}  # the same
        self._shapes = 0  # held by `_hosts`
        self._changed: dict[HostId, HostBudget] = {}  # to be stored with the next batch
        self._changed_domains: dict[int, DomainBudget] = {}

    def change_exemption(self, is_free: Callable[[HostKey], bool]) -> None:
        """From now on these hosts are exempt from cuts."""
        self._is_free = is_free

    def __len__(self) -> int:
        """The number of shapes in memory, plus one for each host."""
        return self._shapes + len(self._hosts)

    def host_loaded(self, record: HostRecord) -> None:
        """Restore the account of a host, and that of its domain."""
        host_id = record.host_id
        budget = self._hosts.pop(host_id, None)
        if budget is None:
            budget = HostBudget() if record.budget is None else HostBudget.from_text(record.budget)
            # A host that was contacted before was admitted before, even if that is not stored.
            budget.admitted = budget.admitted or record.next_contact > 0
            self._shapes += len(budget)
        self._hosts[host_id] = budget
        if record.domain_id not in self._domains:
            whole = float(self._policy.hosts_per_domain)
            text = record.domain_budget
            self._domains[record.domain_id] = (
                DomainBudget(whole) if text is None else DomainBudget.from_text(text, self._policy)
            )
        self._make_room()

    def cut_for(self, visit: Visit) -> Cut | None:
        """The cut that excludes this URL, or None. Called before its host is contacted."""
        budget = self._hosts.get(visit.host_id)
        if budget is None or (budget.admitted and not budget.cuts) or self._is_free(visit.host):
            return None
        if not budget.admitted:
            domain = self._domains.get(visit.domain_id)
            if domain is not None and not domain.admit():
                self._changed_domains[visit.domain_id] = domain
                return domain.cut_of(self._domain_of(visit.host))
            budget.admitted = True
            if domain is not None and domain.hosts % _SAVE_EVERY == 0:
                self._changed_domains[visit.domain_id] = domain
        return budget.cut_of(_shape(visit.task.url)) if budget.cuts else None

    def settled(self, visit: Visit, settlement: Settlement, read: ProcessedDocument | None = None) -> None:
        """Count the outcome of a request, with its document if there is one."""
        budget = self._hosts.get(visit.host_id)
        if budget is None:
            return
        state = settlement.state
        if state is _STORED:
            worth = _worth(settlement)
        elif state is UrlState.DUPLICATE or (
            state is UrlState.REDIRECT and self._redirects_to_same_shape(visit, settlement.redirect_to)
        ):
            worth = PageValue.SAME
        else:
            return  # errors and missing pages have no links, so they cannot be endless
        if worth is _NEW and not budget.found_new:
            budget.found_new = True
            domain = self._domains.get(visit.domain_id)
            if domain is not None:
                domain.on_first_new_page(self._policy)
        if budget.pages < self._policy.grace:
            budget.pages += 1
            return
        self._count(visit, budget, worth, settlement, read)

    def _count(
        self, visit: Visit, budget: HostBudget, worth: PageValue, settlement: Settlement, read: ProcessedDocument | None
    ) -> None:
        shape = _shape(visit.task.url)
        before = len(budget)
        coarse = budget.coarse.get(shape.coarse)
        leads = coarse is not None and coarse.faceted and read is not None and _leads_away(shape, visit.host, read)
        outline = None if read is None or settlement.signature is not None else _outline(settlement, read)
        first_cut = budget.count(shape, worth, self._policy, leads=leads, sketch=outline)
        self._shapes += len(budget) - before
        if first_cut or budget.pages % _SAVE_EVERY == 0:
            self._changed[visit.host_id] = budget

    def on_links(self, visit: Visit, urls: Sequence[Url], hosts: Sequence[HostKey], fresh: Sequence[int]) -> None:
        """All links of a page; `fresh` has the indexes of those that are new. Only some pages are examined."""
        budget = self._hosts.get(visit.host_id)
        # Mixed, because the shapes of a trap may take turns: the ids of one of them may all be odd.
        number = visit.task.url_id * _MIXER >> 16
        shape = None if budget is None else self._shape_to_examine(visit, budget, number)
        if budget is not None and shape is not None:
            before = len(budget)
            most = _LINKS_LOOKED_AT if budget.pages >= self._policy.patience else _LINKS_LOOKED_AT_FIRST
            same_host = _same_host(visit.host, urls, hosts, frozenset(fresh), most)
            if budget.count_links(shape, same_host, self._policy):
                self._changed[visit.host_id] = budget
            self._shapes += len(budget) - before
        domain = self._domains.get(visit.domain_id)
        if domain is not None and domain.hosts >= _MANY_HOSTS and domain.cut is None and number % 4 == 0:
            of_domain = self._domain_of(visit.host)
            others = [i for i, h in enumerate(hosts) if h != visit.host and self._domain_of(h) == of_domain]
            new = len(frozenset(fresh).intersection(others))
            domain.count_links(new, len(others) - new, self._policy)

    def _shape_to_examine(self, visit: Visit, budget: HostBudget, number: int) -> Shape | None:
        """The shape of a page whose links are to be examined; None if they are not.

        The first pages of a shape are examined on a small host too: a trap may show a shape once, and again only after
        thousands of pages of the next shape.
        """
        if budget.pages < self._policy.patience:
            of_shape, of_host = (_MIN_LOOKS, _MIN_OF_HOST) if budget.pages > self._policy.grace else (1, _FIRST_OF_HOST)
            if budget.links.pages >= of_host:
                return None
            shape = _shape(visit.task.url)
            return shape if budget.pages_examined(shape) < of_shape else None
        shape = _shape(visit.task.url)
        often = budget.pages_examined(shape) < _FIRST_LOOKS
        return shape if number % (2 if often else _LOOK_EVERY) == 0 else None

    def on_redirect(self, visit: Visit, target: Url, host: HostKey, is_new: bool) -> None:
        """A page redirects to another one, which is or is not new."""
        if host == visit.host:
            budget = self._hosts.get(visit.host_id)
            here, there = _shape(visit.task.url), _shape(target)
            if budget is None or here.fine == there.fine:  # counted as the same page when it is settled
                return
            before = len(budget)
            if budget.count_redirect(here, there, is_new, self._policy):
                self._changed[visit.host_id] = budget
            self._shapes += len(budget) - before
            return
        domain = self._domains.get(visit.domain_id)
        if (
            domain is not None
            and domain.hosts >= _MANY_HOSTS
            and domain.cut is None
            and self._domain_of(host) == self._domain_of(visit.host)
        ):
            domain.count_links(is_new, not is_new, self._policy)

    def on_refused_link(self, visit: Visit, host: HostKey, reason: str) -> None:
        """Count a link that was refused because of its form, if it leads to the same host."""
        budget = self._hosts.get(visit.host_id) if host == visit.host else None
        if budget is not None:
            budget.refused[reason] = budget.refused.get(reason, 0) + 1
            if budget.refused[reason] % _SAVE_EVERY == 1:
                self._changed[visit.host_id] = budget

    def before_commit(self, batch: Batch) -> None:
        """Put the accounts that have changed into the batch."""
        for host in batch.retired:
            self._retired(host.host_id)
        if self._changed:
            batch.budgets = {host_id: budget.to_text() for host_id, budget in self._changed.items()}
            self._changed = {}
        if self._changed_domains:
            batch.domain_budgets = {number: domain.to_text() for number, domain in self._changed_domains.items()}
            self._changed_domains = {}

    def _retired(self, host_id: HostId) -> None:
        """Store the account of a host that gives up its back queue."""
        budget = self._hosts.get(host_id)
        if budget is not None and budget.is_worth_storing:
            self._changed[host_id] = budget

    def _make_room(self) -> None:
        while len(self) > self._max_shapes and len(self._hosts) > 1:
            host_id = next(iter(self._hosts))
            budget = self._hosts.pop(host_id)
            self._shapes -= len(budget)
            if budget.is_worth_storing:
                self._changed[host_id] = budget
        while len(self._domains) > self._max_shapes:
            number = next(iter(self._domains))
            domain = self._domains.pop(number)
            if domain.hosts > 1:
                self._changed_domains[number] = domain

    def _redirects_to_same_shape(self, visit: Visit, target: str | None) -> bool:
        """Whether a redirect leads to a URL of the same shape on the same host."""
        if target is None or not target.startswith(("http://", "https://")):
            return False
        authority = target.partition("://")[2]
        if not authority.startswith(visit.host) or authority[len(visit.host) : len(visit.host) + 1] not in ("/", ":"):
            return False
        return _shape(Url(target)).fine == _shape(visit.task.url).fine


def _shape(url: Url) -> Shape:
    return shape_of(url, end_of_authority(url))


def _worth(settlement: Settlement) -> PageValue:
    """The value of a stored document; for a near-duplicate it depends on the distance."""
    if settlement.reason == SOFT_404:
        return PageValue.SAME
    if settlement.distance is None:
        return _NEW
    return PageValue.SAME if settlement.distance <= _SAME_DISTANCE else PageValue.ALIKE


def _outline(settlement: Settlement, read: ProcessedDocument) -> TemplateSketch | None:
    """A sketch of a page without text: its title without digits, its size and its number of links. None if it is not a
    page."""
    if read.links is None or settlement.size is None:
        return None
    title = settlement.title or ""
    named = title.translate(_NO_DIGITS)
    return TemplateSketch(hash((named, settlement.size >> 4, len(read.links.fingerprints))), named != title)


def _leads_away(shape: Shape, host: HostKey, read: ProcessedDocument) -> bool:
    return any(c.host != host or _shape(c.url).coarse != shape.coarse for c in read.candidates)


def _same_host(
    host: HostKey, urls: Sequence[Url], hosts: Sequence[HostKey], fresh: frozenset[int], most: int
) -> Iterator[tuple[Shape, bool]]:
    for i in range(0, len(urls), 1 + len(urls) // most):
        if hosts[i] == host:
            yield _shape(urls[i]), i in fresh


class OutcomeFeedback(CrawlObserver):
    """Feeds the outcomes of requests to what learns from them: trap accounts, parameters, soft 404s.

    `trap_accounts`, `learner` and `soft_404` are None where the configuration does without.
    """

    def __init__(
        self,
        identities: Identities,
        trap_accounts: TrapAccounts | None,
        learner: ParameterLearner | None,
        soft_404: Soft404Detector | None = None,
    ) -> None:
        self._identities = identities
        self.trap_accounts = trap_accounts
        self._learner = learner
        self._soft_404 = soft_404
        self._news: list[LearntParameter] = []

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        if self.trap_accounts is not None:
            self.trap_accounts.host_loaded(record)
        if self._soft_404 is not None:
            self._soft_404.recall(record.host_id, record.soft_404)

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        """Learn from a URL that was requested. A page that we have teaches nothing: it cannot be new."""
        before = visit.task.previous
        if not requested or (before is not None and before.has_document):
            return
        if self.trap_accounts is not None:
            self.trap_accounts.settled(visit, settlement, document)
        if self._learner is not None and settlement.digest is not None and "?" in visit.task.url:
            self._learn(visit, settlement)

    def _learn(self, visit: Visit, settlement: Settlement) -> None:
        assert self._learner is not None and settlement.digest is not None
        url, host = visit.task.url, visit.host
        for news in self._learner.on_page(url, host, parse_canonical(url, host).path_start, settlement.digest):
            if isinstance(news, LearnedParameter):
                self._identities.learn(news)
                self._news.append(LearntParameter(*news, refuted=False))
            else:
                self._identities.unlearn(*news)
                self._news.append(LearntParameter(*news, 0, 0, refuted=True))

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """Put what was learned into the batch."""
        if self.trap_accounts is not None:
            self.trap_accounts.before_commit(batch)
        if self._news:
            batch.parameters, self._news = self._news, []
        if self._soft_404 is not None:
            batch.soft_404s = self._soft_404.take_changes()
