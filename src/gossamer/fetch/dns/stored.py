"""The last good answer for a host, as it is kept with the host's row over a restart."""

import ipaddress
from dataclasses import dataclass
from typing import Self

from gossamer.fetch.dns.answer import MOST_ADDRESSES
from gossamer.model.units import Instant


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """Where a host was, and until when that holds without asking again."""

    addresses: tuple[str, ...]
    expires: Instant

    def to_text(self) -> str:
        """One line without blanks, `1700000000:192.0.2.1,2001:db8::1`: the second it expires, then the addresses."""
        return f"{int(self.expires)}:{','.join(self.addresses)}"

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The answer again; None for what was not written by `to_text`. Never raises: a bad row costs one question."""
        expires, _, addresses = text.partition(":")
        if not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
            return None
        try:
            kept = tuple(str(ipaddress.ip_address(address)) for address in addresses.split(","))
        except ValueError:
            return None
        return cls(kept[: 2 * MOST_ADDRESSES], Instant(float(expires)))
