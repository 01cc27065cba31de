"""Callers of a service, in a process of their own: so many requests a second over a few connections that stay open.

The calls follow a timetable, whatever the answers do. A call that has to wait for a free connection has waited since
its time had come: a service that stalls is charged for everybody who stood in line meanwhile.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import uvloop

CONNECTIONS = 8
_PATIENCE = 30.0
_GRACE = 0.5  # seconds for the last ones


@dataclass(frozen=True, slots=True)
class Called:
    """What the calls came to: seconds of each by its route, answers other than 200, calls that were never made."""

    seconds: float
    took: dict[str, list[float]] = field(default_factory=dict)
    bad: int = 0
    left: int = 0

    @property
    def calls(self) -> int:
        return sum(map(len, self.took.values()))

    def quantile(self, route: str | None, share: float) -> float:
        """The time within which such a share of the calls was answered."""
        times = sorted(self.took[route] if route else [t for times in self.took.values() for t in times])
        return times[min(int(share * len(times)), len(times) - 1)]


class Callers:
    """Calls the service while the block runs; `called` waits for the end of the timetable."""

    def __init__(self, port: int, paths: Sequence[str], rate: float, seconds: float) -> None:
        self._order = {"port": port, "paths": list(paths), "rate": rate, "seconds": seconds}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "benchmarks.calling"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def called(self) -> Called:
        assert self._process is not None
        patience = float(str(self._order["seconds"])) + 2 * _PATIENCE
        out, _ = self._process.communicate(json.dumps(self._order), timeout=patience)
        return Called(**json.loads(out))


async def call(port: int, paths: Sequence[str], rate: float, seconds: float) -> Called:
    """The paths in turn, so many calls a second for so many seconds."""
    took: dict[str, list[float]] = defaultdict(list)
    bad = 0
    due: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue()
    began = time.monotonic()

    async def caller() -> None:
        nonlocal bad
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
        while (each := await due.get()) is not None:
            path, since = each
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode("ascii"))
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            took[path.partition("?")[0]].append(time.monotonic() - since)
            bad += not head.startswith(b"HTTP/1.1 200 ")
        writer.close()

    async def timetable() -> int:
        """How many calls nobody came to make: the service, or this machine, was too slow for them."""
        for number in range(int(rate * seconds)):
            when = began + number / rate
            if (early := when - time.monotonic()) > 0:
                await asyncio.sleep(early)
            due.put_nowait((paths[number % len(paths)], when))
        await asyncio.sleep(max(0.0, began + seconds + _GRACE - time.monotonic()))
        left = due.qsize()
        while not due.empty():
            due.get_nowait()
        for _ in range(CONNECTIONS):
            due.put_nowait(None)
        return left

    async with asyncio.timeout(seconds + _PATIENCE):
        callers = [asyncio.create_task(caller()) for _ in range(CONNECTIONS)]
        left = await timetable()
        await asyncio.gather(*callers)
    return Called(time.monotonic() - began, dict(took), bad, left)


def main() -> int:
    order = json.loads(sys.stdin.read())
    called = uvloop.run(call(order["port"], order["paths"], order["rate"], order["seconds"]))
    print(json.dumps(asdict(called)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
