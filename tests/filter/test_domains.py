import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.units import Domain, HostKey
from tests.table import table


@table(
    ("host", "domain"),
    [
        ("www.example.org", "example.org"),
        ("a.b.example.co.nz", "example.co.nz"),
        ("co.nz", "co.nz"),
        ("someone.github.io", "someone.github.io"),
        ("h17.trap.test", "trap.test"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.xn--bcher-kva.xn--p1ai", "xn--bcher-kva.xn--p1ai"),
    ],
)
def test_the_registrable_domain_is_the_public_suffix_and_one_label(host: str, domain: str) -> None:
    assert registrable_domain(HostKey(host)) == domain


def test_partitions_never_change() -> None:
    """These numbers are in every store; a change of the hash would orphan them."""
    assert [partition_of(Domain(name), 64) for name in ("example.org", "example.co.nz", "127.0.0.1", "[::1]")] == [
        5,
        60,
        12,
        28,
    ]


@given(name=st.text(min_size=1, max_size=30), partitions=st.integers(min_value=1, max_value=1000))
def test_every_domain_has_a_partition(name: str, partitions: int) -> None:
    assert 0 <= partition_of(Domain(name.encode("utf-8", "replace").decode()), partitions) < partitions


def test_a_crawl_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, not"):
        partition_of(Domain("x.test"), 0)
