"""Builds policy objects (rules of entry, ordering, politeness, retries, recrawl rules) from a configuration.

`PolicyCache` builds each on first use and keeps it, for callers that decide about many URLs. Importing this module does
not import a fetcher, so commands that only read a crawl start quickly.
"""

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from gossamer.clock import Clock, clock_of
from gossamer.config.load import Config
from gossamer.config.sections import HostSection, PriorityRuleSection, RecrawlRuleSection, RecrawlSection
from gossamer.errors import ConfigError, MissingExtra
from gossamer.fetch.dns.policy import AddressPolicy, parse_networks
from gossamer.filter.canonical import Canonicaliser, CanonicalRules
from gossamer.filter.host_table import HostRules, HostTable, UrlPattern, host_table, is_trap_exempt
from gossamer.filter.identity import Identities, IdentityRules
from gossamer.filter.rules import EXCLUDED_EXTENSIONS, MAX_REPEATS, EntryRules
from gossamer.filter.scope import Scope, parse_domains, parse_scope
from gossamer.filter.trap_budget import GRACE, HOSTS_PER_DOMAIN, TrapPolicy
from gossamer.frontier.breaker import BreakerPolicy
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.class_rules import PriorityClass, PriorityRule, PriorityRules
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.score import LOG2_UNIT
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.frontier.retries import RetryPolicy
from gossamer.model.units import DAY, HostKey, Seconds
from gossamer.recrawl.estimate import USUAL
from gossamer.recrawl.policies import RECRAWL_POLICIES, Adaptive, Optimal
from gossamer.recrawl.policy import RecrawlPolicy
from gossamer.recrawl.price import value
from gossamer.recrawl.rules import NEVER_AGAIN, PageFacts, PageStatus, RecrawlRule, RecrawlRules

MAX_RETRY_DELAY: Final = Seconds(3600.0)
"""Upper limit of the delay before a failed URL, host or robots.txt is tried again."""
MISSING_TRIES: Final = 3
"""Visits that find a URL missing before it counts as gone."""
HOST_PATIENCE: Final = Seconds(900.0)
"""If a host is down for longer, its URLs become dead letters."""


def check_config(config: Config) -> None:
    """Raise ConfigError or MissingExtra for a configuration that cannot work, before anything is opened."""
    if config.content.text == "trafilatura" and importlib.util.find_spec("trafilatura") is None:
        raise MissingExtra("content.text = 'trafilatura'", "trafilatura", "text")
    recrawl_policy_for(config)
    ordering_for(config)
    rules_for(config)
    parse_networks(config.allow_networks)
    if config.workers > 1 and config.rehearse is not None:
        raise ConfigError("workers", "--rehearse works with one worker only: each would have its own clock")


def address_policy_for(config: Config) -> AddressPolicy:
    return AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)


def seed_addresses_for(config: Config) -> Callable[[HostKey], str | None]:
    """Says what the host of a seed is that may not be dialled (`AddressPolicy.refused_as`). With a proxy none is known
    to be: the proxy dials."""
    fetch, hosts = config.fetch, config.host.values()
    if fetch.proxy or fetch.proxy_env or any(host.proxy or host.proxy_env for host in hosts):
        return lambda host: None
    return address_policy_for(config).refused_as


def schemes_for(config: Config) -> tuple[str, ...]:
    return ("http", "https", "ftp") if config.fetch.ftp else ("http", "https")


def canonicaliser_for(config: Config) -> Canonicaliser:
    identity = config.identity
    return Canonicaliser(
        CanonicalRules(
            drop_tracking=identity.tracking == "remove",
            drop_sessions=identity.sessions == "remove",
            drop_query=config.filter.drop_query,
            sort_query=identity.order == "sort",
            keep=frozenset(map(str.lower, identity.keep)),
            schemes=schemes_for(config),
        )
    )


def rules_for(config: Config, seeds: Iterable[HostKey] = ()) -> EntryRules:
    """The rules of entry, with the scope that these hosts of seeds extend. Raises ConfigError."""
    section = config.filter
    extensions = section.exclude_extensions
    return EntryRules(
        scope=parse_scope(config.scope).with_seeds(seeds),
        excluded_domains=parse_domains(section.exclude_domains, "filter.exclude_domains"),
        include_patterns=tuple(UrlPattern(text) for text in section.include),
        exclude_patterns=tuple(UrlPattern(text) for text in section.exclude),
        host_rules=_host_rules(config),
        schemes=schemes_for(config),
        max_depth=config.max_depth,
        max_url_bytes=section.max_url_bytes,
        max_repeats=MAX_REPEATS if config.traps.cut else None,
        excluded_extensions=EXCLUDED_EXTENSIONS
        if extensions is None
        else frozenset(e.lower().removeprefix(".") for e in extensions),
    )


def _host_rules(config: Config) -> HostTable[HostRules]:
    # Every section has an entry, even if it has no rules, since only the most specific section applies to a host.
    return host_table({name: _rules_of_host(section) for name, section in config.host.items()}, "host")


def _rules_of_host(section: HostSection) -> HostRules:
    return HostRules(
        tuple(map(UrlPattern, section.include)), tuple(map(UrlPattern, section.exclude)), section.trap is False
    )


def trap_exemption(config: Config) -> Callable[[HostKey], bool]:
    """Whether a host is exempt from trap detection."""
    if not config.traps.cut:
        return lambda host: True
    return partial(is_trap_exempt, _host_rules(config))


def trap_policy_for(config: Config) -> TrapPolicy:
    patience = config.traps.patience
    return TrapPolicy(patience=patience, hosts_per_domain=HOSTS_PER_DOMAIN, grace=min(GRACE, patience // 4))


def identity_rules_for(config: Config) -> IdentityRules:
    identity = config.identity
    return IdentityRules(
        tracking=identity.tracking != "keep",
        sessions=identity.sessions != "keep",
        order=identity.order != "keep",
        parameters=frozenset(map(str.lower, identity.parameters)),
        keep=frozenset(map(str.lower, identity.keep)),
        minimise=config.filter.minimise,
    )


def ordering_for(config: Config, name: str | None = None) -> Ordering:
    """The ordering `name`, built in or of a plugin; without a name, the configuration's.

    Raises ConfigError if there is none of that name, UsageError if the plugin is broken.
    """
    ordering = _ordering_named(config, config.order if name is None else name)
    if rules := priority_rules_for(config):
        ordering.use_rules(rules)
    return ordering


def _ordering_named(config: Config, name: str) -> Ordering:
    if name == Mercator.name:
        return Mercator(config.priority.weights.by_signal, config.priority.trusted, config.priority.bounds)
    if name == BestFirst.name:
        return BestFirst(config.priority.weights.by_signal, config.priority.trusted)
    if name in ORDERINGS:  # plugins cannot take these names, so there is no need to load any
        return ORDERINGS[name]()
    from gossamer.config.plugins import orderings

    makers = orderings()
    if name not in makers:
        raise ConfigError("order", f"no such ordering: {name!r} (there are {', '.join(makers)})")
    return makers[name]()


def priority_rules_for(config: Config) -> PriorityRules:
    """The rules that override scores. Raises ConfigError for an invalid pattern."""
    return PriorityRules([_priority_rule(number, rule) for number, rule in enumerate(config.priority.rules, 1)])


def _priority_rule(number: int, rule: PriorityRuleSection) -> PriorityRule:
    given = [f"{key} {value}" for key, value in (("host", rule.host), ("pattern", rule.pattern)) if value is not None]
    matches = None if rule.pattern is None else UrlPattern(rule.pattern).matches
    name = f"rule {number} ({', '.join(given)}): {rule.class_}"
    return PriorityRule(name, PriorityClass(rule.class_), rule.host, matches)


def recrawl_policy_name(recrawl: RecrawlSection) -> str:
    """The name of the policy that decides when pages are visited again: `auto` depends on the budget."""
    if recrawl.policy != "auto":
        return recrawl.policy
    return Adaptive.name if recrawl.budget is None else Optimal.name


def recrawl_policy_for(config: Config) -> RecrawlPolicy:
    """The policy that decides when pages are visited again. Raises ConfigError if there is none of that name."""
    name = recrawl_policy_name(config.recrawl)
    if name in RECRAWL_POLICIES:  # plugins cannot take these names, so there is no need to load any
        return RECRAWL_POLICIES[name]()
    from gossamer.config.plugins import recrawl_policies

    makers = recrawl_policies()
    if name not in makers:
        raise ConfigError("recrawl.policy", f"no such policy: {name!r} (there are auto, {', '.join(makers)})")
    return makers[name]()


def opening_price_for(config: Config) -> float:
    """The price of a visit at which a page of average importance and unknown change rate gets `recrawl.interval`."""
    return value(USUAL, 1.0, config.recrawl.interval / DAY)


_AVERAGE_PRIORITY = -6.0 * LOG2_UNIT  # of the orderings by links: in the middle of the classes


def importance_for(config: Config) -> Callable[[float], float]:
    """The weight of a page's freshness by its priority: 1 on average. Only the score by links expresses it."""
    if config.order not in (Mercator.name, BestFirst.name):
        return lambda priority: 1.0
    return lambda priority: 2.0 ** min(max((priority - _AVERAGE_PRIORITY) / LOG2_UNIT, -3.0), 3.0)


def retries_for(config: Config) -> RetryPolicy:
    retry = config.retry
    return RetryPolicy(
        max_tries=retry.max_tries,
        base_scale=retry.delay / 10.0,
        status_base=Seconds(10.0),
        max_delay=MAX_RETRY_DELAY,
        missing_delay=Seconds(retry.missing_delay),
        missing_tries=MISSING_TRIES,
    )


def breaker_for(config: Config) -> BreakerPolicy:
    return BreakerPolicy(first_rest=Seconds(config.retry.delay), longest_rest=MAX_RETRY_DELAY, patience=HOST_PATIENCE)


def politeness_for(config: Config, host: HostKey | None = None) -> PolitenessPolicy:
    """The politeness policy of the crawl, or of one host."""
    own = None if host is None else host_table(config.host, "host").for_host(host)
    return PolitenessPolicy(
        min_delay=Seconds(config.delay if own is None or own.delay is None else own.delay),
        load_factor=config.delay_factor,
        max_adaptive_delay=Seconds(config.politeness.max_adaptive_delay),
        max_retry_after=Seconds(config.politeness.max_retry_after),
    )


class PolicyCache:
    """The policies of one configuration, built on first use. May be shared by threads.

    A property raises ConfigError if its part of the configuration is invalid."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.directory = Path(config.dir)

    @cached_property
    def clock(self) -> Clock:
        """The clock of the crawl's directory: accelerated if the crawl was."""
        return clock_of(self.directory)

    @cached_property
    def canonicaliser(self) -> Canonicaliser:
        return canonicaliser_for(self.config)

    @cached_property
    def identities(self) -> Identities:
        """Without the parameters that the crawl has learned to ignore."""
        return Identities(identity_rules_for(self.config))

    @cached_property
    def scope(self) -> Scope:
        """The configured scope, without what seeds add to it."""
        return self._entry.scope

    @cached_property
    def _entry(self) -> EntryRules:
        return rules_for(self.config)

    def entry(self, scope: Scope) -> EntryRules:
        return self._entry if scope is self.scope else replace(self._entry, scope=scope)

    @cached_property
    def ordering(self) -> Ordering:
        return ordering_for(self.config)

    @cached_property
    def _default_politeness(self) -> PolitenessPolicy:
        return politeness_for(self.config)

    def politeness(self, host: HostKey) -> PolitenessPolicy:
        return politeness_for(self.config, host) if self.config.host else self._default_politeness

    @cached_property
    def trap_exemption(self) -> Callable[[HostKey], bool]:
        return trap_exemption(self.config)

    @cached_property
    def traps(self) -> TrapPolicy:
        return trap_policy_for(self.config)

    @cached_property
    def recrawl_policy(self) -> RecrawlPolicy:
        return recrawl_policy_for(self.config)

    @cached_property
    def recrawl_rules(self) -> RecrawlRules:
        return recrawl_rules_for(self.config.recrawl)

    @cached_property
    def opening_price(self) -> float:
        return opening_price_for(self.config)

    @cached_property
    def importance(self) -> Callable[[float], float]:
        return importance_for(self.config)


@dataclass(frozen=True, slots=True)
class GlobRule(RecrawlRule):
    """A rule with a glob pattern. Not a regular expression: one written by a user may take exponential time."""

    glob: UrlPattern | None = None

    def fits(self, page: PageFacts) -> bool:
        return (self.glob is None or self.glob.matches(page.url)) and RecrawlRule.fits(self, page)


def recrawl_rules_for(section: RecrawlSection) -> RecrawlRules:
    """The recrawl rules of a configuration. Raises ConfigError for an invalid pattern."""
    rules = [_recrawl_rule(number, rule) for number, rule in enumerate(section.rules, 1)]
    return RecrawlRules(rules, Seconds(section.interval), Seconds(section.shortest), Seconds(section.longest))


def _recrawl_rule(number: int, rule: RecrawlRuleSection) -> GlobRule:
    gap = NEVER_AGAIN if rule.never else _seconds(rule.interval)
    return GlobRule(
        f"rule {number}",
        rule.host,
        None,
        rule.mime,
        None if rule.state is None else PageStatus(rule.state),
        gap,
        _seconds(rule.shortest),
        _seconds(rule.longest),
        None if rule.pattern is None else UrlPattern(rule.pattern),
    )


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)
