"""What the filter, robots.txt and the budgets of shapes say, asked of the code that decides in a crawl."""

from collections.abc import Iterable

from gossamer.explain.facts import Facts, LearntFact, RobotsFact
from gossamer.explain.story import Robots, Verdict
from gossamer.fetch.robots import path_of, rules_from_answer
from gossamer.filter.canonical import Canonical
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, IdentityRules, Learnt
from gossamer.filter.rules import EntryRules
from gossamer.filter.shapes import shape_of
from gossamer.filter.traps_budget import Cut, HostBudget, TrapPolicy
from gossamer.filter.traps_hosts import DomainBudget
from gossamer.model.units import HostKey, Instant, Origin, Seconds, Url


def entry_verdicts(rules: EntryRules, url: Url, host: HostKey, depth: int) -> tuple[Verdict, ...]:
    """Every rule of entry in the order it is asked. The first with a reason is what decides."""
    return tuple(_verdict(rule, said) for rule, said in rules.explain_entry(url, host, depth))


def _verdict(rule: str, said: str) -> Verdict:
    word, _, detail = said.partition(" ")
    return Verdict(rule, None if word == "passes" else word, detail.removeprefix("(").removesuffix(")"))


def first_reason(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The rule that refuses; None if all pass."""
    return next((verdict for verdict in verdicts if verdict.reason is not None), None)


def robots_verdict(url: Url, origin: Origin, fact: RobotsFact | None, agent: str, now: Instant) -> Robots:
    """May `agent` fetch this URL, by which line, and how old is that answer?"""
    if fact is None:
        return Robots(origin, None, "not on record: asked for before the first visit")
    if fact.status is None:  # how long the host is left alone for it is told as politeness
        return Robots(origin, None, "out of reach: nothing may be fetched before its rules are known")
    moved = fact.status is not None and 300 <= fact.status < 400
    # What is on record was an answer to rely on when it came; a redirect only because it was one too many.
    answer = rules_from_answer(fact.status, fact.body, agent=agent, now=now, redirects_exhausted=moved)
    verdict = answer.verdict(path_of(url))
    if moved:
        meaning = "it was redirected too often, so it counts as absent"
    elif answer.rules is None:
        meaning = "the rules are unknown: nothing may be fetched"
    elif fact.status is not None and fact.status >= 400:
        meaning = "there is no file: everything is allowed"
    elif verdict.line is None:
        meaning = "no line speaks of it" if answer.rules.group_found else "no group speaks to us"
    else:
        meaning = "this line decides"
    return Robots(
        origin,
        verdict.allowed,
        meaning,
        verdict.line,
        verdict.line_number,
        fact.status,
        fact.fetched_at,
        Seconds(max(0.0, now - fact.fetched_at)),
        fact.expires_at,
        now < fact.expires_at,
        answer.rules.crawl_delay if answer.rules is not None else None,
    )


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
            return _cut_verdict(domain.cut_of(registrable_domain(page.host)))
    cut = budget.cut_of(shape)
    if cut is not None:
        return _cut_verdict(cut)
    known = budget.fine.get(shape.fine)
    counted = known.figures if known is not None else "nothing counted yet"
    return Verdict("budget", None, f"{shape.fine}: {counted}")


def _cut_verdict(cut: Cut) -> Verdict:
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
