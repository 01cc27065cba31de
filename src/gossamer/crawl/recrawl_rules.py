"""Which gaps hold for a URL: the configuration's rules by host, pattern, type and outcome. Pure."""

from typing import NamedTuple

from gossamer.filter.hosts import HostTable, host_table
from gossamer.filter.patterns import UrlPattern
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey, Seconds, Url
from gossamer.sections import RecrawlRule, RecrawlSection


class Gaps(NamedTuple):
    """What holds for one URL."""

    shortest: Seconds
    longest: Seconds
    fixed: Seconds | None = None  # neither more nor less, whatever the policy says
    never: bool = False
    rule: int | None = None  # the number of the rule that says so, from 1 on


class _Compiled(NamedTuple):
    host: HostTable[bool] | None
    pattern: UrlPattern | None
    mime: str | None
    state: UrlState | None
    gaps: Gaps


class RecrawlRules:
    """The rules in their order; the first that fits counts. Raises ConfigError for what is none."""

    def __init__(self, wishes: RecrawlSection) -> None:
        self.usual = Gaps(Seconds(wishes.shortest), Seconds(wishes.longest))
        self._rules = [self._compiled(number, rule) for number, rule in enumerate(wishes.rules, 1)]

    def _compiled(self, number: int, rule: RecrawlRule) -> _Compiled:
        shortest = self.usual.shortest if rule.shortest is None else Seconds(rule.shortest)
        longest = self.usual.longest if rule.longest is None else Seconds(rule.longest)
        fixed = None if rule.interval is None else Seconds(rule.interval)
        return _Compiled(
            None if rule.host is None else host_table({rule.host: True}, "recrawl.rules"),
            None if rule.pattern is None else UrlPattern(rule.pattern),
            None if rule.mime is None else rule.mime.lower(),
            None if rule.state is None else UrlState[rule.state.upper()],
            Gaps(shortest, max(shortest, longest), fixed, rule.never, number),
        )

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, host: HostKey, url: Url, mime: str | None, state: UrlState) -> Gaps:
        """What holds for a URL that came to this."""
        for rule in self._rules:
            if (
                (rule.state is None or rule.state is state)
                and (rule.mime is None or _fits(rule.mime, mime))
                and (rule.host is None or rule.host.of(host))
                and (rule.pattern is None or rule.pattern.matches(url))
            ):
                return rule.gaps
        return self.usual


def _fits(wanted: str, mime: str | None) -> bool:
    if mime is None:
        return False
    return mime == wanted or (wanted.endswith("/*") and mime.startswith(wanted[:-1]))
