"""Which addresses may be dialled."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import ConfigError
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.model.units import HostKey
from tests.table import table

CLOSED = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "100.127.255.255", "198.18.0.1", "198.19.255.255", "192.0.2.1", "198.51.100.7",
    "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.0.0.8",
    "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "3fff::1", "100::1",
    "2001::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "::ffff:0.0.0.0", "::ffff:255.255.255.255", "::ffff:224.0.0.1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:7f00:1::", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "::8.8.8.8",
    "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "fe80::5efe:808:808", "2001:2::1", "5f00::1", "4000::1",
    "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1", "::127.0.0.1", "::7f00:1", "fe80::1%eth0", "2606:4700::1%lo",
]  # fmt: skip
OPEN = [
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "198.17.0.1",
    "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    "2606:4700::5efe:808:808",
]  # fmt: skip


def test_addresses_that_are_not_public_are_closed() -> None:
    assert [address for address in CLOSED if AddressPolicy().may_dial(address)] == []


def test_public_addresses_are_open() -> None:
    assert [address for address in OPEN if not AddressPolicy().may_dial(address)] == []


@pytest.mark.parametrize(
    "text", ["", "localhost", "x.test", "127.1", "0177.0.0.1", "2130706433", "[::1]", "1.1.1.1 ", "1.1.1.1:80"]
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_what_is_no_address_is_never_open(text: str, allow_private: bool) -> None:
    assert not AddressPolicy(allow_private=allow_private).may_dial(text)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "192.168.0.1", "8.8.8.8", "169.254.169.254"]
)
def test_private_addresses_open_when_allowed(address: str) -> None:
    assert AddressPolicy(allow_private=True).may_dial(address)


@table(
    "address",
    ["0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:0.0.0.0", "::ffff:224.0.0.1",
     "64:ff9b::ffff:ffff", "2002:e000:1::", "fe80::1%eth0"],
)  # fmt: skip
def test_what_is_no_hosts_address_stays_closed_even_then(address: str) -> None:
    assert not AddressPolicy(allow_private=True).may_dial(address)


@pytest.mark.parametrize(
    "network", ["10.1.0.5/16", "10.1.0.0/33", "10.1.0.0/x", "somewhere", "", "10.1", "fe80::/10%eth0", "::1/129"]
)
def test_a_network_that_is_none_is_refused_by_name(network: str) -> None:
    with pytest.raises(ConfigError, match="allow_networks") as refused:
        AddressPolicy(allowed_networks=("10.0.0.0/8", network))

    assert repr(network) in str(refused.value)


def test_a_single_address_is_a_network_too() -> None:
    policy = AddressPolicy(allowed_networks=("127.0.0.5",))

    assert policy.may_dial("127.0.0.5")
    assert not policy.may_dial("127.0.0.6")


def test_an_allowed_network_opens_itself_and_nothing_else() -> None:
    policy = AddressPolicy(allowed_networks=("127.0.0.0/24", "fd00:1::/64"))

    assert policy.may_dial("127.0.0.200")
    assert policy.may_dial("::ffff:127.0.0.1")
    assert policy.may_dial("fd00:1::5")
    assert not policy.may_dial("127.0.1.1")
    assert not policy.may_dial("10.0.0.1")
    assert not policy.may_dial("fd00:2::5")
    assert policy.may_dial("8.8.8.8")


@given(st.integers(0, 2**32 - 1))
def test_an_embedded_address_is_judged_as_the_one_inside(number: int) -> None:
    inner = ipaddress.IPv4Address(number)
    policy = AddressPolicy()
    mapped = ipaddress.IPv6Address(0xFFFF << 32 | number)
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | number)

    assert policy.may_dial(str(mapped)) == policy.may_dial(str(inner)) == policy.may_dial(str(translated))


@given(st.integers(0, 2**32 - 1))
def test_nothing_is_open_that_the_standard_library_calls_private(number: int) -> None:
    address = ipaddress.IPv4Address(number)

    if AddressPolicy().may_dial(str(address)):
        assert address.is_global


@table(
    ("host", "refused"),
    [
        ("127.0.0.11", "loopback address; --allow-private permits it"),
        ("localhost", "loopback address; --allow-private permits it"),
        ("a.localhost", "loopback address; --allow-private permits it"),
        ("[::1]", "loopback address; --allow-private permits it"),
        ("[::ffff:10.0.0.1]", "private address; --allow-private permits it"),
        ("192.168.3.4", "private address; --allow-private permits it"),
        ("169.254.169.254", "link-local address; --allow-private permits it"),
        ("224.0.0.1", "not the address of a host"),
        ("8.8.8.8", None),
        ("localhost.test", None),
        ("a.test", None),
    ],
)
def test_a_host_that_may_not_be_dialled_is_named_for_what_it_is(host: str, refused: str | None) -> None:
    assert AddressPolicy().refused_as(HostKey(host)) == refused


def test_the_memory_of_decisions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.fetch.dns.policy._REMEMBERED", 10)
    policy = AddressPolicy()

    for number in range(100):
        policy.may_dial(f"8.8.8.{number}")

    assert len(policy._known) <= 10
