"""The operator's rules for priorities: a fixed class for hosts, domains and URL patterns, whatever the score.

The first rule that applies decides. Under an ordering by class, the URL goes to the front queue of the rule's class.
Under an ordering by score, `high` is ahead of all URLs without a rule, `low` is behind them, and `medium` leaves the
URL where its score puts it; among the URLs of one class the score decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gossamer.model.units import Url

HOSTS_KEPT = 65_536  # cached answers


class PriorityClass(StrEnum):
    """The classes that a rule may name."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class PriorityRule:
    """One rule. None matches everything."""

    name: str  # as in the configuration, for `explain`
    level: PriorityClass
    host: str | None = None  # `news.example.org`, or `*.example.org` for it and its subdomains
    matches: Callable[[str], bool] | None = None  # the whole URL

    def covers(self, host: str) -> bool:
        """Whether it applies to URLs of this host, as far as the host decides."""
        if self.host is None or self.host == host:
            return True
        return self.host.startswith("*.") and (host == self.host[2:] or host.endswith(self.host[1:]))


class PriorityRules:
    """All rules of a crawl. Hosts are looked up once."""

    def __init__(self, rules: Sequence[PriorityRule] = ()) -> None:
        self._rules = tuple(rules)
        self._of_host: dict[str, tuple[PriorityRule, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def text(self) -> str:
        """All that positions depend on."""
        return "; ".join(rule.name for rule in self._rules)

    def rule_for(self, url: Url) -> PriorityRule | None:
        """The rule that applies to a canonical URL; None for no URL."""
        if not url:
            return None
        host = _without_port(url.split("/", 3)[2])
        rules = self._of_host.get(host)
        if rules is None:
            if len(self._of_host) >= HOSTS_KEPT:
                self._of_host.clear()
            rules = self._of_host[host] = tuple(rule for rule in self._rules if rule.covers(host))
        for rule in rules:
            if rule.matches is None or rule.matches(url):
                return rule
        return None


def _without_port(authority: str) -> str:
    name, colon, port = authority.rpartition(":")
    return name if colon and port.isdecimal() and not authority.endswith("]") else authority


NO_RULES = PriorityRules()
