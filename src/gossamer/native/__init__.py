"""The inner loops of the hot path in C, where a compiler was at hand when Gossamer was installed (ADR 18).

Each has a twin in Python, which defines what it gives and is used where it is missing: the same crawl, a tenth slower.
`GOSSAMER_NATIVE=0` in the environment leaves them out. `kernels` is None then, and everybody asks it first.
"""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol, cast


class Kernels(Protocol):
    """What is in `kernels.c`."""

    def signature(self, text: str, most: int, least: int, /) -> bytes | None:
        """`sketch.minhash.signature`, of at most so many characters that fill at least so many bins."""
        ...

    def base32(self, digest: bytes, /) -> str:
        """`backends.warc.record.base32`."""
        ...

    def without_fragments(self, hrefs: list[str], /) -> dict[str, None]:
        """The distinct references of a page up to their `#` (`filter.links`)."""
        ...

    def resolve_plain(
        self,
        refs: Iterable[str],
        base: str,
        origin: str,
        document: str,
        directory: str,
        host: str,
        sites: dict[str, tuple[str, str] | str],
        links: dict[str, str],
        most: int,
        noise: bool,
        otherwise: Callable[[str], None],
        /,
    ) -> None:
        """Adds what plain references mean to `links`, also those to known `sites`; what is not plain, or has more than
        `most` characters, or with `noise` what may have to be rewritten, goes to `otherwise`, in its place in the order
        (`filter.links`)."""
        ...


def _load() -> Kernels | None:
    if os.environ.get("GOSSAMER_NATIVE") == "0":
        return None
    try:
        return cast(Kernels, import_module("gossamer.native._kernels"))
    except ImportError:
        return None


kernels = _load()
