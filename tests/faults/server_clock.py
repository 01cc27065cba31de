"""A PostgreSQL server whose clock can be stepped while it runs, by libfaketime."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.debian import unpacked

_CACHED_SECONDS = "1"
"""A process of the server notices a step after this time."""


class ServerClock:
    """How far the clock of a server is off: a file that every process of it reads."""

    def __init__(self, folder: Path) -> None:
        """In a folder that all users may enter, as the server of root has to. Raises RuntimeError if there is no
        libfaketime."""
        library = next(unpacked("libfaketime").glob("usr/lib/*/faketime/libfaketime.so.1"))
        self._library = Path(shutil.copy(library, folder))
        self._file = folder / "offset"
        self.seconds = 0.0
        self.step(0.0)

    def step(self, seconds: float) -> None:
        self.seconds += seconds
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{self.seconds:+.3f}")
        draft.chmod(0o644)
        draft.replace(self._file)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A server that is started in this block has this clock."""
        ours = {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": _CACHED_SECONDS,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }
        os.environ |= ours
        try:
            yield
        finally:
            for name in ours:
                del os.environ[name]
