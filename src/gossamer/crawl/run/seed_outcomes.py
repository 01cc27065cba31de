"""What became of the seeds of a crawl, for its report."""

from collections import Counter

from gossamer.crawl.document.admission import Admission
from gossamer.filter.canonical import Canonical
from gossamer.filter.domains import registrable_domain
from gossamer.model.states import UrlState
from gossamer.model.units import Url
from gossamer.observe.snapshot import SeedCounts
from gossamer.reports.ports import StatusReader

_MOST_HOPS = 20  # redirects that are followed from a seed
_HELD = (UrlState.STORED, UrlState.DUPLICATE)


def count_seeds(status: StatusReader, admission: Admission) -> SeedCounts:
    """The seeds that led to a page, and the others by reason. A seed of another worker, or one that is queued, is
    neither. Takes some ten microseconds for each seed. Raises StoreFailed."""
    given = stored = 0
    failed: Counter[str] = Counter()
    for seed in status.seeds():
        given += 1
        outcome = _outcome_of(seed, status, admission)
        if outcome == "":
            stored += 1
        elif outcome is not None:
            failed[outcome] += 1
    return SeedCounts(given, stored, dict(failed.most_common()))


def _outcome_of(seed: Url, status: StatusReader, admission: Admission) -> str | None:
    """Why a seed led to no page; empty if it did, None if that is not known yet."""
    url: str = seed
    for _ in range(_MOST_HOPS):
        target = admission.canonical(url, seed)
        if not isinstance(target, Canonical):
            return target.reason
        domain, fingerprint = registrable_domain(target.host), admission.fingerprint_of(target.url, target.host)
        found = status.outcome_of(domain, fingerprint)
        if found is None or found.state is UrlState.QUEUED:
            return None
        if found.state in _HELD:
            return ""
        if found.state is not UrlState.REDIRECT or found.reason is not None or found.redirect_to is None:
            return found.reason or (found.state.word if found.status is None else f"status_{found.status}")
        url = found.redirect_to
    return "too_many_redirects"
