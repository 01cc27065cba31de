"""What the filter and robots.txt say, asked of the code that decides in a crawl."""

from gossamer.explain.facts import RobotsFact
from gossamer.explain.story import Robots, Verdict
from gossamer.fetch.robots import path_of, rules_from_answer
from gossamer.filter.rules import EntryRules
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
