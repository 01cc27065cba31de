"""The inner loops of the hot path in C, if a compiler was available when Gossamer was installed (ADR 18).

Each has a Python version, which defines the result and is used if the C version is missing; only the speed differs.
`GOSSAMER_NATIVE=0` in the environment disables the C versions. `kernels` is None then; callers must check it.
"""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol, cast


class Kernels(Protocol):
    """The functions of `kernels.c`."""

    def signature(self, text: str, most: int, least: int, /) -> bytes | None:
        """`sketch.signature`, of at most `most` characters that fill at least `least` bins."""
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
        """See `filter.links.resolve_plain_in_python`."""
        ...


def _load() -> Kernels | None:
    if os.environ.get("GOSSAMER_NATIVE") == "0":
        return None
    try:
        return cast(Kernels, import_module("gossamer.native._kernels"))
    except ImportError:
        return None


kernels = _load()
