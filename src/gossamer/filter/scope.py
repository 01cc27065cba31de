"""Which hosts belong to a crawl."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from gossamer.errors import ConfigError
from gossamer.filter.canonical import Refusal, canonicalise
from gossamer.filter.domains import registrable_domain
from gossamer.filter.growing import GrowingSet
from gossamer.model.units import Domain, HostKey

_KINDS = "expected host, domain, any, host:NAME, domain:NAME or tld:NAME, joined by commas"


@dataclass(frozen=True, slots=True)
class Scope:
    """A host is in scope if any part admits it. With `of_seed_*` the hosts of seeds are added by `with_seeds`."""

    everything: bool = False
    of_seed_hosts: bool = False
    of_seed_domains: bool = False
    hosts: GrowingSet[HostKey] = GrowingSet()
    suffixes: GrowingSet[str] = GrowingSet()
    """Domains and top-level domains: they admit themselves and all names below."""

    def with_seeds(self, hosts: Iterable[HostKey]) -> "Scope":
        """The scope after seeds on these hosts were added; itself if they change nothing."""
        hosts = frozenset(hosts)
        wider = self.hosts.with_more(hosts) if self.of_seed_hosts else self.hosts
        suffixes = self.suffixes
        if self.of_seed_domains:
            suffixes = suffixes.with_more(str(registrable_domain(host)) for host in hosts)
        if wider is self.hosts and suffixes is self.suffixes:
            return self
        return replace(self, hosts=wider, suffixes=suffixes)

    def admitted_by(self, host: HostKey) -> str | None:
        """The part of the scope that admits `host` (`tld:nz` as `domain:nz`, which is the same), or None."""
        if self.everything:
            return "any"
        if host in self.hosts:
            return f"host:{host}"
        suffix = covering_suffix(host, self.suffixes)
        return None if suffix is None else f"domain:{suffix}"


def covering_suffix(host: HostKey, suffixes: Set[str]) -> str | None:
    """The longest of `suffixes` that is `host` or a domain above it."""
    name = str(host)
    while name not in suffixes:
        _, dot, name = name.partition(".")
        if not dot:
            return None
    return name


def parse_scope(text: str) -> Scope:
    """The scope that a configuration value or `--scope` means. Raises ConfigError naming the part it cannot read.

    `host` are the hosts of the seeds exactly, `domain` the registrable domains of the seeds, `any` the whole
    web; `host:www.example.org`, `domain:example.org` (all names below included) and `tld:nz` name theirs.
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
                raise ConfigError("scope", f"cannot read {part!r}: {_KINDS}")
    return Scope(everything, of_hosts, of_domains, GrowingSet(hosts), GrowingSet(suffixes))


def _host_named(name: str, part: str) -> HostKey:
    host = read_host(name)
    if host is None:
        raise ConfigError("scope", f"{part!r} names no host")
    return host


def read_host(name: str) -> HostKey | None:
    """The host key of a name as a person writes it: any case, international, with a final dot. None if it is none."""
    address = name.startswith("[") and name.endswith("]")
    if any(mark in name for mark in "/\\@?#") or (":" in name and not address):
        return None  # not only a name: a path, a user or a port too
    found = canonicalise(f"http://{name}/")
    return None if isinstance(found, Refusal) else found.host


def parse_domains(names: Iterable[str], key: str) -> frozenset[Domain]:
    """Domains as a configuration or the API lists them. Raises ConfigError with `key` and the name it cannot read."""
    domains: set[Domain] = set()
    for name in names:
        host = read_host(name.strip().removeprefix("*").removeprefix("."))
        if host is None:
            raise ConfigError(key, f"{name!r} is no domain name")
        domains.add(Domain(host))
    return frozenset(domains)
