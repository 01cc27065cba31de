"""Chooses which of a host's addresses to dial. Pure: the time is a parameter.

An address that could not be reached is tried last for a minute, so that a host with one dead address among several
does not lose a visit to it each time.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.fetch.dns.cache import Addresses
from gossamer.model.outcome import Failure
from gossamer.model.units import Instant, Seconds

UNREACHABLE_FAILURES = frozenset((Failure.CONN_REFUSED, Failure.CONNECT_TIMEOUT, Failure.TLS_HANDSHAKE_TIMEOUT))
"""Failures that concern the address rather than the page: another address may work."""


@dataclass(frozen=True, slots=True)
class DialRules:
    avoid_for: Seconds = Seconds(60.0)  # after a failure to connect
    max_remembered: int = 10_000
    # If there is another address, it is not worth waiting long for this one.
    timeout_with_alternative: Seconds = Seconds(1.0)


class AddressChoice:
    """Chooses addresses and remembers which could not be reached. `may_dial` is the address policy."""

    def __init__(self, may_dial: Callable[[str], bool], rules: DialRules | None = None) -> None:
        self._may_dial = may_dial
        self._rules = rules or DialRules()
        self._dead: OrderedDict[str, Instant] = OrderedDict()  # address -> avoided until

    def __len__(self) -> int:
        return len(self._dead)

    def choose(self, found: Addresses, last: str | None, now: Instant) -> str | None:
        """The address to dial; None if the policy permits none of them.

        Prefers the last address dialled if it is still the host's (its connection may be open), else the first.
        Addresses that recently could not be reached come last, ordered by the time until which they are avoided.
        """
        if last is not None and last in found.addresses and self._may_dial(last) and not self.is_dead(last, now):
            return last
        permitted = [address for address in found.addresses if self._may_dial(address)]
        if not permitted:
            return None
        if self._dead:
            alive = [address for address in permitted if not self.is_dead(address, now)]
            if not alive:
                return min(permitted, key=self._dead.__getitem__)
            permitted = alive
        return permitted[0]

    def has_alternative(self, found: Addresses, address: str, now: Instant) -> bool:
        """Whether there is another address that may be dialled and is not avoided."""
        return any(
            other != address and self._may_dial(other) and not self.is_dead(other, now) for other in found.addresses
        )

    def connect_timeout(self, found: Addresses, address: str, now: Instant) -> Seconds | None:
        """Timeout of a connection to this address; None for the default."""
        return self._rules.timeout_with_alternative if self.has_alternative(found, address, now) else None

    def on_unreachable(self, address: str, now: Instant) -> None:
        """No connection could be made to the address: avoid it for a while."""
        self._dead.pop(address, None)
        self._dead[address] = Instant(now + self._rules.avoid_for)
        while len(self._dead) > self._rules.max_remembered:
            self._dead.popitem(last=False)

    def on_reached(self, address: str) -> None:
        """A connection was made to the address."""
        if self._dead:
            self._dead.pop(address, None)

    def is_dead(self, address: str, now: Instant) -> bool:
        until = self._dead.get(address)
        if until is None:
            return False
        if until <= now:
            del self._dead[address]
            return False
        return True
