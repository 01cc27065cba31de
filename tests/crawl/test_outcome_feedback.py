"""What a crawl learns from the outcomes of its requests: trap accounts, parameters without effect, soft 404s."""

from gossamer.crawl.trap_accounts import OutcomeFeedback, TrapAccounts
from gossamer.dedup import MANY_REDIRECTS, Soft404Detector
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, IdentityRules, LearningPolicy, ParameterLearner
from gossamer.filter.trap_budget import TrapPolicy
from gossamer.model.batch import Batch
from gossamer.model.facts import DomainFacts
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

HOST, HOST_ID = HostKey("a.test"), HostId(1)
NOW = Instant(1_700_000_000.0)
POLICY = LearningPolicy(pairs=2, contents=2)


def visit(url_id: int, target: str, before: PreviousVisit | None = None) -> Visit:
    task = Task(url_id, Fingerprint(url_id), Url(f"http://a.test{target}"), 0, 0.0, 0.0, 1, 0, 0, previous=before)
    return Visit(HOST_ID, HOST, 7, task, None, 0.1)


def stored(url_id: int, digest: bytes | None) -> Settlement:
    return Settlement(HOST_ID, url_id, 0, UrlState.STORED, NOW, digest=digest)


def record(**more: object) -> HostRecord:
    usual = HostRecord(HOST_ID, HOST, 7, DomainFacts(), 1, Instant(1.0), 0.1, None)
    return usual._replace(**more)  # type: ignore[arg-type]


class Learner:
    """A crawl that learns parameters. Each page is (path and query, document)."""

    def __init__(self) -> None:
        self.identities = Identities(IdentityRules(tracking=False, sessions=False))
        self.feedback = OutcomeFeedback(self.identities, None, ParameterLearner(POLICY))
        self._rows = 0

    def fetch(self, *pages: tuple[str, bytes], requested: bool = True, before: PreviousVisit | None = None) -> None:
        for target, document in pages:
            self._rows += 1
            self.feedback.settled(visit(self._rows, target, before), stored(self._rows, document), None, requested)

    def ignores_x(self) -> bool:
        """Whether `x` makes no difference, but for the few URLs that keep such parameters as a check."""
        urls = [Url(f"http://a.test/s?p=9&x={n}") for n in range(64)]
        return len({self.identities.identity_of(url, HOST) for url in urls}) < 16

    def changes(self) -> list[tuple[str, bool]]:
        """What is handed over to the store: the parameters by name, and whether they were refuted."""
        batch = Batch()
        self.feedback.before_commit(batch, NOW)
        return [(each.name, each.refuted) for each in batch.parameters]


PAIRS = (("/s?p=1&x=1", b"one"), ("/s?p=1&x=2", b"one"), ("/s?p=2&x=1", b"two"), ("/s?p=2&x=2", b"two"))


def test_a_parameter_without_effect_is_learnt_and_stored() -> None:
    crawl = Learner()
    assert not crawl.ignores_x()

    crawl.fetch(*PAIRS)

    assert crawl.ignores_x()
    assert crawl.changes() == [("x", False)]


def test_what_was_learnt_is_handed_over_once() -> None:
    crawl = Learner()
    crawl.fetch(*PAIRS)
    crawl.changes()

    assert crawl.changes() == []


def test_a_learnt_parameter_is_refuted_by_a_counter_example() -> None:
    crawl = Learner()
    crawl.fetch(*PAIRS)
    crawl.changes()

    crawl.fetch(("/s?p=3&x=1", b"three"), ("/s?p=3&x=2", b"another"))

    assert not crawl.ignores_x()
    assert crawl.changes() == [("x", True)]


def test_nothing_is_learnt_from_urls_that_were_not_requested() -> None:
    crawl = Learner()

    crawl.fetch(*PAIRS, requested=False)

    assert not crawl.ignores_x()
    assert crawl.changes() == []


def test_nothing_is_learnt_from_pages_that_we_have() -> None:
    crawl = Learner()
    before = PreviousVisit(1, 0, UrlState.STORED, None, NOW, b"d" * 20)

    crawl.fetch(*PAIRS, before=before)

    assert crawl.changes() == []


def test_a_page_that_was_missing_the_time_before_is_learnt_from() -> None:
    crawl = Learner()
    before = PreviousVisit(1, 0, UrlState.MISSING, None, NOW)

    crawl.fetch(*PAIRS, before=before)

    assert crawl.changes() == [("x", False)]


def test_an_outcome_without_a_document_teaches_nothing_of_parameters() -> None:
    crawl = Learner()
    for number, (target, _) in enumerate(PAIRS):
        crawl.feedback.settled(visit(number, target), stored(number, None), None, True)

    assert crawl.changes() == []


def test_without_a_learner_no_parameter_is_learnt() -> None:
    crawl = Learner()
    crawl.feedback = OutcomeFeedback(crawl.identities, None, None)

    crawl.fetch(*PAIRS)

    assert crawl.changes() == []


# --- traps and soft 404s ---------------------------------------------------------------------------


def trapped(policy: TrapPolicy, soft_404: Soft404Detector | None = None) -> OutcomeFeedback:
    accounts = TrapAccounts(policy, domain_of=registrable_domain)
    return OutcomeFeedback(Identities(IdentityRules()), accounts, None, soft_404)


def test_outcomes_of_requests_count_for_the_trap_accounts() -> None:
    feedback = trapped(TrapPolicy())
    assert feedback.trap_accounts is not None
    feedback.host_loaded(record(), [])
    cut_after = None
    for number in range(1000):
        item = visit(number, f"/item/{number}")
        if feedback.trap_accounts.cut_for(item) is not None:
            cut_after = number
            break
        feedback.settled(item, Settlement(HOST_ID, number, 0, UrlState.DUPLICATE, NOW, duplicate_of=1), None, True)

    assert cut_after is not None
    batch = Batch()
    feedback.before_commit(batch, NOW)
    assert HOST_ID in batch.budgets


def test_outcomes_without_a_request_do_not_count_for_the_trap_accounts() -> None:
    feedback = trapped(TrapPolicy())
    assert feedback.trap_accounts is not None
    feedback.host_loaded(record(), [])

    for number in range(1000):
        item = visit(number, f"/item/{number}")
        feedback.settled(item, Settlement(HOST_ID, number, 0, UrlState.DUPLICATE, NOW, duplicate_of=1), None, False)

    assert feedback.trap_accounts.cut_for(visit(5000, "/item/5000")) is None


def test_soft_404_evidence_is_stored_with_the_commit_and_recalled_with_the_host() -> None:
    soft_404 = Soft404Detector()
    feedback = trapped(TrapPolicy(), soft_404)
    for n in range(MANY_REDIRECTS):
        soft_404.leads_home(HOST_ID, f"http://a.test/{n}", "http://a.test/")
    batch, again = Batch(), Batch()
    feedback.before_commit(batch, NOW)
    feedback.before_commit(again, NOW)

    recalled = Soft404Detector()
    restarted = trapped(TrapPolicy(), recalled)
    restarted.host_loaded(record(soft_404=batch.soft_404s[HOST_ID]), [])

    assert again.soft_404s == {}
    assert recalled.leads_home(HOST_ID, "http://a.test/next", "http://a.test/")
