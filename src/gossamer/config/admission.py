"""Which reasons for a refusal no longer hold after a change of the configuration, and the record of that.

`AdmissionRules` are the settings that decide whether a URL enters, as they are stored with a crawl. `AdmissionRecord`
says under which of them URLs were refused that have not been looked at since.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gossamer.config.load import Config
from gossamer.config.policies import schemes_for
from gossamer.filter.rules import EXCLUDED_EXTENSIONS
from gossamer.filter.scope import Scope, covering_suffix, parse_scope

ADMISSION_KEY = "admission"
"""The name under which the record is stored."""
TRAP_CUTS = ("trap:same", "trap:alike", "trap:facets", "trap:endless", "trap:hosts")
"""The reasons of URLs that were cut by what pages of their shape, or hosts of their domain, turned out to be."""
_TRAPS = ("trap:repeats", *TRAP_CUTS)


class Widened(NamedTuple):
    """A setting that admits more than before, and the reasons for refusals that it may lift."""

    change: str  # for users: `max_depth 1 → 2`
    reasons: tuple[str, ...]


class HostAdmission(msgspec.Struct, frozen=True):
    """The same of one `[host]` section."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    trap: bool = True  # whether its URLs may be cut as a trap


class AdmissionRules(msgspec.Struct, frozen=True):
    """The settings that decide whether a URL enters the crawl, and whether it is excluded later."""

    scope: str
    seed_hosts: int  # hosts of seeds, which extend the scopes `host` and `domain`
    exclude_domains: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    exclude_extensions: tuple[str, ...]
    max_depth: int
    max_url_bytes: int
    hosts: dict[str, HostAdmission]
    kinds: tuple[str, ...]
    schemes: tuple[str, ...]
    traps: bool
    max_per_domain: int | None
    allow_private: bool
    allow_networks: tuple[str, ...]

    @property
    def version(self) -> int:
        """A number that other rules do not have, and that the same rules have in every process."""
        return int.from_bytes(blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=8).digest())

    def with_seed_hosts(self, number: int) -> "AdmissionRules":
        return msgspec.structs.replace(self, seed_hosts=number)

    def with_running(self, running: "AdmissionRules") -> "AdmissionRules":
        """These rules as a running crawl can take them over: what is fixed at its start is that of `running`."""
        return msgspec.structs.replace(self, schemes=running.schemes)

    def widened_from(self, before: "AdmissionRules") -> list[Widened]:
        """What these rules admit that the former did not. May name a reason too many, never one too few."""
        found: list[Widened] = []

        def lift(name: str, reasons: str, old: object, new: object) -> None:
            found.append(Widened(f"{name} {_shown(old)} → {_shown(new)}", tuple(reasons.split())))

        if self.max_depth > before.max_depth:
            lift("max_depth", "depth_limit", before.max_depth, self.max_depth)
        scope = parse_scope(self.scope)
        if _is_wider(parse_scope(before.scope), scope):
            lift("scope", "out_of_scope", before.scope, self.scope)
        elif self.seed_hosts > before.seed_hosts and (scope.of_seed_hosts or scope.of_seed_domains):
            lift("hosts of seeds", "out_of_scope", before.seed_hosts, self.seed_hosts)
        if set(before.exclude_domains) - set(self.exclude_domains):
            lift("exclude_domains", "excluded_domain", before.exclude_domains, self.exclude_domains)
        if self.max_url_bytes > before.max_url_bytes:
            lift("max_url_bytes", "url_too_long", before.max_url_bytes, self.max_url_bytes)
        if gone := set(before.exclude_extensions) - set(self.exclude_extensions):
            found.append(Widened(f"exclude_extensions without {_shown(sorted(gone))}", ("extension",)))
        if set(before.exclude) - set(self.exclude):
            lift("exclude", "pattern", before.exclude, self.exclude)
        if before.include and (not self.include or set(self.include) - set(before.include)):
            lift("include", "pattern", before.include, self.include)
        changed = [
            name
            for name in sorted({*before.hosts, *self.hosts})
            if self.hosts.get(name, HostAdmission()) != before.hosts.get(name, HostAdmission())
        ]
        if changed:
            found.append(Widened(f"host {_shown(changed)}", ("pattern", "unwanted_type", *_TRAPS)))
        if set(self.kinds) - set(before.kinds):
            lift("kinds", "unwanted_type", before.kinds, self.kinds)
        if set(self.schemes) - set(before.schemes):
            lift("schemes", "bad_scheme redirect_bad_scheme", before.schemes, self.schemes)
        if before.traps and not self.traps:
            lift("traps.cut", " ".join(_TRAPS), "true", "false")
        if before.max_per_domain is not None and (self.max_per_domain or _MANY) > before.max_per_domain:
            lift("max_per_domain", "domain_limit", before.max_per_domain, self.max_per_domain)
        if self.allow_private and not before.allow_private:
            lift("allow_private", "blocked_address", "false", "true")
        elif not before.allow_private and set(self.allow_networks) - set(before.allow_networks):
            lift("allow_networks", "blocked_address", before.allow_networks, self.allow_networks)
        return found


_MANY = 2**62


def admission_rules_for(config: Config, seed_hosts: int) -> AdmissionRules:
    section, extensions = config.filter, config.filter.exclude_extensions
    return AdmissionRules(
        scope=config.scope,
        seed_hosts=seed_hosts,
        exclude_domains=tuple(sorted(section.exclude_domains)),
        include=section.include,
        exclude=section.exclude,
        exclude_extensions=tuple(sorted(EXCLUDED_EXTENSIONS if extensions is None else extensions)),
        max_depth=config.max_depth,
        max_url_bytes=section.max_url_bytes,
        hosts={
            name: HostAdmission(own.include, own.exclude, own.kinds, own.trap is not False)
            for name, own in config.host.items()
            if own.include or own.exclude or own.kinds is not None or own.trap is False
        },
        kinds=config.fetch.kinds,
        schemes=tuple(schemes_for(config)),
        traps=config.traps.cut,
        max_per_domain=config.politeness.max_per_domain,
        allow_private=config.allow_private,
        allow_networks=config.allow_networks,
    )


class AdmissionRecord(msgspec.Struct, frozen=True):
    """The rules of the last complete pass over what was refused, those that came since, and the state of a pass that is
    not complete. Without `reasons` there is none."""

    rules: tuple[AdmissionRules, ...]  # the last are those in force
    changes: str = ""  # what became wider, for users
    reasons: tuple[str, ...] = ()  # for refusals, that may no longer hold
    cursor: int = 0  # URLs up to this id have been looked at
    pages: int | None = None  # pages to read again; None: not counted yet
    done: int = 0
    returned: int = 0  # URLs queued
    unreadable: int = 0  # pages that could not be read

    @classmethod
    def from_text(cls, text: str) -> "AdmissionRecord":
        return msgspec.json.decode(text, type=cls)

    def to_text(self) -> str:
        return msgspec.json.encode(self).decode()

    def changed_to(self, rules: AdmissionRules) -> "AdmissionRecord":
        """The record after these rules have come into force. With the same rules an unfinished pass goes on."""
        if self.rules[-1] == rules:
            return self
        widened = list(dict.fromkeys(each for before in self.rules for each in rules.widened_from(before)))
        if not widened:
            return AdmissionRecord((rules,))
        return AdmissionRecord(
            (*(each for each in self.rules if each != rules), rules),
            ", ".join(each.change for each in widened),
            _distinct(reason for each in widened for reason in each.reasons),
        )

    def advanced(self, **changes: int) -> "AdmissionRecord":
        return msgspec.structs.replace(self, **changes)

    def completed(self) -> "AdmissionRecord":
        return AdmissionRecord(self.rules[-1:])


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _shown(value: object) -> str:
    if value is None:
        return "unlimited"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value)) or "none"
    return str(value)


def _is_wider(before: Scope, now: Scope) -> bool:
    if before.everything or now.everything:
        return now.everything and not before.everything
    if now.of_seed_domains and not before.of_seed_domains:
        return True
    if now.of_seed_hosts and not (before.of_seed_hosts or before.of_seed_domains):
        return True
    if any(covering_suffix(host, before.suffixes) is None for host in now.suffixes):  # type: ignore[arg-type]
        return True
    return any(host not in before.hosts and covering_suffix(host, before.suffixes) is None for host in now.hosts)
