"""Which addresses may be dialled. Asked for every request, about the very address that is dialled."""

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Network = IPv4Network | IPv6Network

_REMEMBERED = 65_536

# IANA special-purpose registries, and what is routed nowhere or only within a site.
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
_OPEN_6 = IPv6Network("2000::/3")  # all that is global unicast; everything outside is closed
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


class AddressPolicy:
    """Public addresses only, unless told otherwise.

    `allow_private` opens everything that is not public; `allowed_networks` opens just those blocks.
    """

    def __init__(self, *, allow_private: bool = False, allowed_networks: Iterable[str | Network] = ()) -> None:
        self._allow_private = allow_private
        self._allowed = tuple(ipaddress.ip_network(block) for block in allowed_networks)
        self._known: dict[str, bool] = {}

    def may_dial(self, address: str) -> bool:
        """Whether a connection to this address may be made. False for what is no address at all."""
        known = self._known.get(address)
        if known is None:
            known = self._decide(address)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[address] = known
        return known

    def _decide(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False  # names an interface of this machine
        if self._allow_private:
            return not (address.is_unspecified or address.is_multicast)
        if any(address in block for block in self._allowed):
            return True
        inner = _embedded(address)
        if inner is not None:
            # It reaches the host behind the embedded address, so that one decides.
            return any(inner in block for block in self._allowed) or is_public(inner)
        return is_public(address)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is meant to be reached from everywhere."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _CLOSED_4)
    return address in _OPEN_6 and not any(address in block for block in _CLOSED_6)


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
