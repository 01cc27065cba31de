"""Which addresses may be dialled. Checked for every request, with the address that is dialled."""

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from gossamer.errors import ConfigError
from gossamer.model.units import HostKey

Network = IPv4Network | IPv6Network

_REMEMBERED = 65_536

# IANA special-purpose registries: not routed, or only within a site.
_CLOSED_4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the clouds' metadata service
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relay
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_OPEN_6 = IPv6Network("2000::/3")  # global unicast; everything outside is closed
_CLOSED_6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, Teredo and ORCHID among them
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the upper half of an interface identifier that ends in an IPv4 address
_NOT_A_HOST = tuple(ipaddress.ip_network(block) for block in ("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32"))


class AddressPolicy:
    """Permits public addresses only, by default.

    `allow_private` permits every unicast address; `allowed_networks` permits these blocks in addition. Raises
    ConfigError if one of them is not a network.
    """

    def __init__(self, *, allow_private: bool = False, allowed_networks: Iterable[str | Network] = ()) -> None:
        self._allow_private = allow_private
        self._allowed = parse_networks(allowed_networks)
        self._known: dict[str, bool] = {}

    def replace_with(self, other: "AddressPolicy") -> None:
        """Decide as the other policy does from the next request on."""
        self._allow_private, self._allowed = other._allow_private, other._allowed
        self._known.clear()

    def may_dial(self, address: str) -> bool:
        """Whether this address may be dialled. False for text that is not an address."""
        known = self._known.get(address)
        if known is None:
            known = self._decide(address)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[address] = known
        return known

    def refused_as(self, host: HostKey) -> str | None:
        """What a host is that may not be dialled, with the option that permits it: `loopback address; --allow-private
        permits it`. None if it may be, and for a name, whose addresses are not known yet."""
        text = "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host.strip("[]")
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return None
        if self.may_dial(text):
            return None
        meant = _embedded(address) or address
        kind = "loopback" if meant.is_loopback else "link-local" if meant.is_link_local else "private"
        if not AddressPolicy(allow_private=True).may_dial(text):
            return "not the address of a host"
        return f"{kind} address; --allow-private permits it"

    def _decide(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False  # refers to an interface of this machine
        inner = _embedded(address)
        # Traffic goes to the embedded address, so that one decides.
        meant = address if inner is None else inner
        if self._allow_private:
            return not (meant.is_unspecified or meant.is_multicast or any(meant in block for block in _NOT_A_HOST))
        if any(address in block or meant in block for block in self._allowed):
            return True
        return is_public(meant)


def parse_networks(networks: Iterable[str | Network], key: str = "allow_networks") -> tuple[Network, ...]:
    """Parse networks such as `10.1.0.0/16`, or single addresses. Raises ConfigError with the invalid one."""
    parsed: list[Network] = []
    for network in networks:
        try:
            parsed.append(ipaddress.ip_network(network))
        except ValueError as error:
            raise ConfigError(key, f"{network!r} is not a network ({error})") from None
    return tuple(parsed)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is globally reachable."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _CLOSED_4)
    if address not in _OPEN_6 or any(address in block for block in _CLOSED_6):
        return False
    upper, lower = divmod(int(address) & 0xFFFF_FFFF_FFFF_FFFF, 1 << 32)
    return upper not in _ISATAP or is_public(IPv4Address(lower))


def _embedded(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside a mapped, NAT64 or 6to4 one."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _6TO4:
        return address.sixtofour
    return None
