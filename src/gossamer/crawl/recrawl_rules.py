"""The rules of `[recrawl]` as `recrawl.rules` has them, and what a settlement is to them."""

import math
from dataclasses import dataclass

from gossamer.filter.patterns import UrlPattern
from gossamer.model.states import UrlState
from gossamer.model.units import Seconds
from gossamer.recrawl.rules import PageFacts, RecrawlRule, RecrawlRules, Standing
from gossamer.sections import RecrawlRuleSection, RecrawlSection

NEVER_AGAIN = Seconds(math.inf)
"""The gap of what is not visited again."""

_PERMANENT = (301, 308)


@dataclass(frozen=True, slots=True)
class GlobRule(RecrawlRule):
    """A rule whose pattern is one of ours: a user's regular expression may take exponential time."""

    glob: UrlPattern | None = None

    def fits(self, page: PageFacts) -> bool:
        return (self.glob is None or self.glob.matches(page.url)) and RecrawlRule.fits(self, page)


def recrawl_rules_of(wishes: RecrawlSection) -> RecrawlRules:
    """The configuration's rules. Raises ConfigError for a pattern that is none."""
    rules = [_rule(number, rule) for number, rule in enumerate(wishes.rules, 1)]
    return RecrawlRules(rules, Seconds(wishes.interval), Seconds(wishes.shortest), Seconds(wishes.longest))


def _rule(number: int, rule: RecrawlRuleSection) -> GlobRule:
    gap = NEVER_AGAIN if rule.never else _seconds(rule.interval)
    return GlobRule(
        f"rule {number}",
        rule.host,
        None,
        rule.mime,
        None if rule.state is None else Standing(rule.state),
        gap,
        _seconds(rule.shortest),
        _seconds(rule.longest),
        None if rule.pattern is None else UrlPattern(rule.pattern),
    )


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)


def standing_of(state: UrlState, status: int | None, near_duplicate: bool) -> Standing:
    """What a visit came to, as far as the next one depends on it."""
    if near_duplicate:
        return Standing.NEAR_DUPLICATE
    if state is UrlState.REDIRECT:
        return Standing.MOVED if status in _PERMANENT else Standing.ELSEWHERE
    if state is UrlState.MISSING:
        return Standing.NOT_FOUND
    return Standing.GONE if state is UrlState.GONE else Standing.PAGE
