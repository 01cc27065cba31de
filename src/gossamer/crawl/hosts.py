"""What the operator wishes for single hosts, as a visit needs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gossamer.extract.kinds import Kinds
from gossamer.fetch.http.options import HostOptions
from gossamer.filter.hosts import HostTable
from gossamer.model.units import HostKey, Seconds

Wants = Callable[[int, Mapping[str, str]], bool]
"""Whether the body of an answer with this status and these fields is to be read."""


@dataclass(frozen=True, slots=True)
class HostWish:
    """How a host is asked, how long it is left alone at least, and what of it is kept."""

    options: HostOptions = HostOptions()
    min_delay: Seconds | None = None  # None: that of the crawl
    kinds: Kinds = field(default_factory=Kinds)

    @property
    def wants(self) -> Wants | None:
        """What to ask about the head of an answer; None if everything is wanted."""
        return None if self.kinds.everything else self.kinds.wants_head

    @property
    def proxied(self) -> bool:
        return self.options.proxy is not None


class HostWishes:
    """The wish for every host: its own where there is one, else the usual one. A crawl has one of these, and whoever
    needs a wish asks for it each time, because wishes change while it runs."""

    def __init__(self, usual: HostWish | None = None, single: HostTable[HostWish] | None = None) -> None:
        self.usual = usual or HostWish()
        self._single = single or HostTable()
        self.delays: Mapping[HostKey, Seconds] = {}  # that were ordered through the service; they stay

    def of(self, host: HostKey) -> HostWish:
        if not self._single.entries and not self.delays:  # asked for several times a page
            return self.usual
        wish = self._single.of(host) or self.usual
        return replace(wish, min_delay=self.delays[host]) if self.delays and host in self.delays else wish

    def change_to(self, others: "HostWishes") -> None:
        """Take over these wishes. They hold from each host's next request on."""
        self.usual, self._single = others.usual, others._single
