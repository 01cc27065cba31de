"""What a configuration decides by, each part made when it is first needed and kept: for whoever asks about many URLs.

`wishes` says what the parts are. Light: loads no fetcher. Several threads may use one book.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from gossamer import wishes
from gossamer.clock import Clock, clock_of
from gossamer.config import Config
from gossamer.crawl.recrawl_rules import recrawl_rules_of
from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.identity import Identities
from gossamer.filter.rules import EntryRules
from gossamer.filter.scope import Scope, parse_scope
from gossamer.filter.traps_budget import TrapPolicy
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.units import HostKey
from gossamer.recrawl.policy import RecrawlPolicy
from gossamer.recrawl.rules import RecrawlRules


class Rulebook:
    """The rules of one configuration. Raises ConfigError where a part of it means none."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.directory = Path(config.dir)
        self.archive = self.directory / "warc"

    @cached_property
    def clock(self) -> Clock:
        """By which the dates in the crawl's directory are to be read."""
        return clock_of(self.directory)

    @cached_property
    def canonicaliser(self) -> Canonicaliser:
        return wishes.canonicaliser_for(self.config)

    @cached_property
    def identities(self) -> Identities:
        """As far as they rest on nothing that was learnt."""
        return Identities(wishes.identity_rules_for(self.config))

    @cached_property
    def scope(self) -> Scope:
        """Without what seeds add to it."""
        return parse_scope(self.config.scope)

    @cached_property
    def _entry(self) -> EntryRules:
        return wishes.rules_for(self.config, self.scope)

    def entry(self, scope: Scope) -> EntryRules:
        return self._entry if scope is self.scope else replace(self._entry, scope=scope)

    @cached_property
    def ordering(self) -> Ordering:
        return wishes.ordering_for(self.config)

    @cached_property
    def _usual_politeness(self) -> PolitenessPolicy:
        return wishes.politeness_for(self.config)

    def politeness(self, host: HostKey) -> PolitenessPolicy:
        return wishes.politeness_for(self.config, host) if self.config.host else self._usual_politeness

    @cached_property
    def is_free_of_traps(self) -> Callable[[HostKey], bool]:
        return wishes.is_free_of_traps(self.config)

    @cached_property
    def traps(self) -> TrapPolicy:
        return wishes.trap_policy_for(self.config)

    @cached_property
    def recrawl_policy(self) -> RecrawlPolicy:
        return wishes.recrawl_policy_for(self.config)

    @cached_property
    def recrawl_rules(self) -> RecrawlRules:
        return recrawl_rules_of(self.config.recrawl)

    @cached_property
    def opening_price(self) -> float:
        return wishes.opening_price_for(self.config)

    @cached_property
    def importance(self) -> Callable[[float], float]:
        return wishes.importance_for(self.config)
