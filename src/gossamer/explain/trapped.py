"""What has been spent on the shape of a URL, and which of its parameters do not count: read as the crawl reads it."""

from collections.abc import Iterable

from gossamer.explain.facts import Facts, LearntFact
from gossamer.explain.story import Verdict
from gossamer.filter.canonical import Canonical
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, IdentityRules, Learnt
from gossamer.filter.shapes import shape_of
from gossamer.filter.traps_budget import Cut, HostBudget, TrapPolicy
from gossamer.filter.traps_hosts import DomainBudget


def budget_verdict(page: Canonical, facts: Facts, policy: TrapPolicy | None) -> Verdict:
    """The budget of a URL's shape as a rule: what was counted, and whether it is cut. No policy: nothing is cut."""
    if policy is None:
        return Verdict("budget", None, "nothing is cut as a trap here")
    shape = shape_of(page.url, page.path_start)
    contacted = facts.host is not None and facts.host.next_contact > 0
    budget = HostBudget() if facts.budget is None else HostBudget.from_text(facts.budget)
    if facts.domain_budget is not None and not (contacted or budget.admitted):
        domain = DomainBudget.from_text(facts.domain_budget, policy)
        if domain.cut is not None:
            return _verdict(domain.cut_of(registrable_domain(page.host)))
    cut = budget.cut_of(shape)
    if cut is not None:
        return _verdict(cut)
    known = budget.fine.get(shape.fine)
    counted = known.figures if known is not None else "nothing counted yet"
    return Verdict("budget", None, f"{shape.fine}: {counted}")


def _verdict(cut: Cut) -> Verdict:
    return Verdict("budget", cut.reason, cut.detail)


def cuts_of(state: str | None) -> tuple[list[Cut], dict[str, int]]:
    """The shapes of a host that were cut, and the URLs that never entered by reason, from its stored budget."""
    if state is None:
        return [], {}
    budget = HostBudget.from_text(state)
    return budget.all_cuts(), budget.refused


def identities_with(rules: IdentityRules, learnt: Iterable[LearntFact]) -> Identities:
    """The identities of a crawl, as far as they rest on these parameters."""
    return Identities(rules, (Learnt(*fact) for fact in learnt))
