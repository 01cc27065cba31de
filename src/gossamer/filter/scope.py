"""Which hosts belong to a crawl, and an immutable set that can be extended without copying it."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from gossamer.errors import ConfigError
from gossamer.filter.canonical import Refusal, canonicalise
from gossamer.filter.domains import registrable_domain
from gossamer.model.units import Domain, HostKey

T = TypeVar("T", bound=str)
_MOST_NAMED = 5  # names of each kind in the text of a scope


class LayeredSet(Set[T]):
    """An immutable set in a few layers, each at least twice as large as the next: adding a million names in small
    batches copies each name about twenty times, not thousands of times. A membership test checks every layer."""

    __slots__ = ("_layers",)

    def __init__(self, names: Iterable[T] = ()) -> None:
        first = frozenset(names)
        self._layers: tuple[frozenset[T], ...] = (first,) if first else ()

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self._layers)

    def __iter__(self) -> Iterator[T]:
        return (name for layer in self._layers for name in layer)

    def __len__(self) -> int:
        return sum(map(len, self._layers))

    def __hash__(self) -> int:
        return self._hash()

    def with_more(self, names: Iterable[T]) -> "LayeredSet[T]":
        """A set with these names too; itself if it contains them all."""
        fresh = frozenset(name for name in names if name not in self)
        if not fresh:
            return self
        layers = list(self._layers)
        while layers and len(layers[-1]) < 2 * len(fresh):
            fresh |= layers.pop()
        grown: LayeredSet[T] = LayeredSet()
        grown._layers = (*layers, fresh)
        return grown


_KINDS = "expected host, domain, any, host:NAME, domain:NAME or tld:NAME, joined by commas"


@dataclass(frozen=True, slots=True)
class Scope:
    """A host is in scope if any part admits it. With `of_seed_*` the hosts of seeds are added by `with_seeds`."""

    everything: bool = False
    of_seed_hosts: bool = False
    of_seed_domains: bool = False
    hosts: LayeredSet[HostKey] = LayeredSet()
    suffixes: LayeredSet[str] = LayeredSet()
    """Domains and top-level domains: they admit themselves and all names below."""

    def with_seeds(self, hosts: Iterable[HostKey]) -> "Scope":
        """The scope after adding seeds on these hosts; itself if they change nothing."""
        hosts = frozenset(hosts)
        wider = self.hosts.with_more(hosts) if self.of_seed_hosts else self.hosts
        suffixes = self.suffixes
        if self.of_seed_domains:
            suffixes = suffixes.with_more(str(registrable_domain(host)) for host in hosts)
        if wider is self.hosts and suffixes is self.suffixes:
            return self
        return replace(self, hosts=wider, suffixes=suffixes)

    def admitted_by(self, host: HostKey) -> str | None:
        """The part of the scope that admits `host`, or None."""
        if self.everything:
            return "any"
        if host in self.hosts:
            return f"host:{host}"
        suffix = covering_suffix(host, self.suffixes)
        return None if suffix is None else self._of_suffix(suffix)

    def __str__(self) -> str:
        """As configured: `host,tld:nz`. Some names of a long list; none next to `host` or `domain`, which add seeds."""
        if self.everything:
            return "any"
        of_seeds = [kind for kind, on in (("host", self.of_seed_hosts), ("domain", self.of_seed_domains)) if on]
        hosts = () if self.of_seed_hosts else islice(self.hosts, _MOST_NAMED)
        suffixes = () if self.of_seed_domains else islice(self.suffixes, _MOST_NAMED)
        return ",".join([*of_seeds, *sorted(f"host:{host}" for host in hosts), *sorted(map(self._of_suffix, suffixes))])

    def _of_suffix(self, suffix: str) -> str:
        # A single label names a top-level domain, unless it is that of a seed such as `localhost`.
        return f"{'domain' if '.' in suffix or self.of_seed_domains else 'tld'}:{suffix}"


def covering_suffix(host: HostKey, suffixes: Set[str]) -> str | None:
    """The longest of `suffixes` that is `host` or a domain above it."""
    name = str(host)
    while name not in suffixes:
        _, dot, name = name.partition(".")
        if not dot:
            return None
    return name


def parse_scope(text: str) -> Scope:
    """Parse a scope from the configuration or `--scope`. Raises ConfigError with the part that is invalid.

    `host` means exactly the hosts of the seeds, `domain` the registrable domains of the seeds, `any` the whole web;
    `host:www.example.org`, `domain:example.org` (with all names below) and `tld:nz` name theirs.
    """
    everything = of_hosts = of_domains = False
    hosts: set[HostKey] = set()
    suffixes: set[str] = set()
    for part in (piece.strip() for piece in text.split(",")):
        match part.partition(":"):
            case ("any", "", ""):
                everything = True
            case ("host", "", ""):
                of_hosts = True
            case ("domain", "", ""):
                of_domains = True
            case ("host", ":", name):
                hosts.add(_host_named(name, part))
            case ("domain" | "tld", ":", name):
                suffixes.add(_host_named(name.removeprefix("."), part))
            case _:
                raise ConfigError("scope", f"invalid scope {part!r}: {_KINDS}")
    return Scope(everything, of_hosts, of_domains, LayeredSet(hosts), LayeredSet(suffixes))


def _host_named(name: str, part: str) -> HostKey:
    host = read_host(name)
    if host is None:
        raise ConfigError("scope", f"{part!r} does not name a host")
    return host


def read_host(name: str) -> HostKey | None:
    """The host key of a name as a person writes it: any case, international, with a final dot. None if it is not a host
    name."""
    address = name.startswith("[") and name.endswith("]")
    if any(mark in name for mark in "/\\@?#") or (":" in name and not address):
        return None  # not only a name, but also a path, a user or a port
    found = canonicalise(f"http://{name}/")
    return None if isinstance(found, Refusal) else found.host


def parse_domains(names: Iterable[str], key: str) -> frozenset[Domain]:
    """Parse domains from the configuration or the API. Raises ConfigError with `key` and the name that is invalid."""
    domains: set[Domain] = set()
    for name in names:
        host = read_host(name.strip().removeprefix("*").removeprefix("."))
        if host is None:
            raise ConfigError(key, f"{name!r} is not a domain name")
        domains.add(Domain(host))
    return frozenset(domains)
