"""Registrable domains, and the partition that owns each."""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList
from xxhash import xxh3_64_intdigest

from gossamer.model.partition import PARTITIONS
from gossamer.model.units import Domain, HostKey

_RESERVED = frozenset({"test", "example", "invalid", "localhost", "local", "internal"})


@cache
def _suffixes() -> PublicSuffixList:
    # 60 ms and some megabytes, so loaded on first use. The private part of the list is included: the sites
    # under `github.io` belong to different people, and each has its own budget.
    return PublicSuffixList()


@lru_cache(65_536)
def registrable_domain(host: HostKey) -> Domain:
    """The public suffix of `host` plus one label; the host itself if it is an address, a single label or a suffix."""
    if host.startswith("[") or host.rpartition(".")[2].isdigit():  # no top-level domain is numeric
        return Domain(host)
    found: str | None = _suffixes().privatesuffix(host)
    return Domain(found or host)


@lru_cache(65_536)
def public_suffix(host: HostKey) -> str:
    """The public suffix of `host`; the host itself if it is an address."""
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    found: str | None = _suffixes().publicsuffix(host)
    return found or host


def has_known_suffix(name: str) -> bool:
    """Whether a name is under a public suffix of the list, or under a top-level domain reserved for tests and local
    networks (RFC 2606, RFC 6762, RFC 8375)."""
    name = name.lower().rstrip(".")
    return name.rpartition(".")[2] in _RESERVED or bool(_suffixes().privatesuffix(name, accept_unknown=False))


def partition_of(domain: Domain, partitions: int) -> int:
    """Which of `partitions` owns the domain, from 0. The same on every machine and in every version."""
    if partitions < 1:
        raise ValueError(f"the number of partitions must be at least 1, not {partitions}")
    return xxh3_64_intdigest(domain.encode()) % partitions


def domain_of(host: HostKey, partitions: int = PARTITIONS) -> tuple[Domain, int, str]:
    """The registrable domain of a host, the partition that owns the domain, and the host's public suffix."""
    domain = registrable_domain(host)
    return domain, partition_of(domain, partitions), public_suffix(host)
