"""Facts and rules for stories, with everything usual left out."""

from dataclasses import replace

from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.rules import EntryRules
from gossamer.frontier.orderings import ORDERINGS
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.facts import DomainFacts, UrlFacts
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, HostKey, Instant, Seconds, Url
from gossamer.model.url_record import DomainFact, Facts, HostFact, RobotsFact, UrlFact, VisitFact
from gossamer.reports.explain.build import CrawlRules
from gossamer.reports.explain.schedule import Caps
from gossamer.reports.explain.story import Form
from gossamer.reports.explain.verdicts import form_of

NOW = Instant(1_700_000_000.0)
URL = Url("http://h.test/a/b")

RULES = CrawlRules(
    entry=EntryRules(),
    ordering=ORDERINGS["mercator"](),
    politeness=PolitenessPolicy(),
    caps=Caps(None, Seconds(3600.0)),
    robots_agent="gossamer",
    minimise=False,
)

LEARNT = UrlFacts(9, URL, 2, links=3, links_from_others=1, credit=250_000_000)

QUEUED = UrlFact(
    learnt=LEARNT,
    state=UrlState.QUEUED,
    front=1,
    available_at=Instant(NOW - 50),
    place=NOW - 50,
    priority=RULES.ordering.score(LEARNT),
    tries=0,
    hops=0,
    via=Via.LINK,
    found_at=Instant(NOW - 100),
    reason=None,
)

HOST = HostFact(
    host=HostKey("h.test"),
    next_contact=Instant(NOW - 10),
    last_took=Seconds(0.05),
    address="192.0.2.1",
    rest_reason=None,
)

DOMAIN = DomainFact(Domain("h.test"), DomainFacts(visits=7, links=20, links_from_others=4), 11)

VISIT = VisitFact(
    at=Instant(NOW - 20),
    status=200,
    size=1234,
    took=Seconds(0.05),
    mime="text/html",
    digest=b"0123456789abcdefghij",
    title="a title",
    duplicate_of=None,
    redirect_to=None,
    warc_file="x.warc.gz",
    warc_offset=100,
    warc_length=500,
)

FACTS = Facts(url=QUEUED, host=HOST, domain=DOMAIN, order="mercator")
NEVER_SEEN = Facts(domain=DOMAIN, next_id=10)


def known(state: UrlState, reason: str | None = None) -> Facts:
    """A URL that was visited."""
    return replace(FACTS, url=replace(QUEUED, state=state, reason=reason, available_at=None), visit=VISIT)


def robots(body: str, status: int = 200, age: float = 100.0) -> RobotsFact:
    fetched = Instant(NOW - age)
    return RobotsFact(status=status, fetched_at=fetched, expires_at=Instant(fetched + 86_400), body=body.encode())


def form(text: str = URL) -> Form:
    return form_of(text, text, Canonicaliser())
