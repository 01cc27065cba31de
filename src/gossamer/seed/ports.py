"""What the seed stage needs from outside."""

from typing import Protocol, runtime_checkable

from gossamer.model.units import HostKey, Url


class Accepted(Protocol):
    """A URL in canonical form."""

    @property
    def url(self) -> Url: ...

    @property
    def host(self) -> HostKey: ...


@runtime_checkable
class Refused(Protocol):
    """Text that gives no URL, and the word for why."""

    @property
    def reason(self) -> str: ...


class Canonicalise(Protocol):
    """Turns text into a canonical URL. Never raises."""

    def __call__(self, text: str, /) -> Accepted | Refused: ...
