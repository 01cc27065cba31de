"""More lines than fit into memory, sorted: runs of them on disk, merged when they are read.

The order is that of the bytes (`LC_ALL=C sort`), which is what readers of an index search by.
"""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

LINES_IN_MEMORY = 50_000
BYTES_IN_MEMORY = 32 * 1024 * 1024
MOST_RUNS = 64
"""Files that are merged at a time, and so open at a time."""


class SortedLines:
    """Takes lines in any order and gives them back sorted, once. Use it in a `with` block: it has files to remove."""

    def __init__(self, folder: Path | None = None, lines: int = LINES_IN_MEMORY, size: int = BYTES_IN_MEMORY) -> None:
        self._most_lines = lines
        self._most_bytes = size
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix=".sort-", dir=folder)))
        self._lines: list[bytes] = []
        self._bytes = 0
        self._runs: list[Path] = []
        self._made = 0

    def __enter__(self) -> "SortedLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, lines: Iterable[str]) -> int:
        """Returns how many there were."""
        number = 0
        for line in lines:
            raw = line.encode("utf-8", "backslashreplace") + b"\n"
            self._lines.append(raw)
            self._bytes += len(raw)
            number += 1
            if len(self._lines) >= self._most_lines or self._bytes >= self._most_bytes:
                self._spill()
        return number

    def __iter__(self) -> Iterator[bytes]:
        """All lines with their line feeds."""
        self._lines.sort()
        with ExitStack() as stack:
            files = [stack.enter_context(run.open("rb")) for run in self._runs]
            yield from heapq.merge(*files, self._lines)

    def _spill(self) -> None:
        self._lines.sort()
        self._write_run(self._lines)
        self._lines = []
        self._bytes = 0
        if len(self._runs) >= MOST_RUNS:
            merged, self._runs = self._runs, []
            with ExitStack() as stack:
                self._write_run(heapq.merge(*(stack.enter_context(run.open("rb")) for run in merged)))
            for run in merged:
                run.unlink()

    def _write_run(self, lines: Iterable[bytes]) -> None:
        path = self._folder / f"{self._made}"
        self._made += 1
        with path.open("wb") as file:
            file.writelines(lines)
        self._runs.append(path)
