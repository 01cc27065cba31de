"""What the server saw: one `Request` for each it was asked, in memory and as lines of JSON."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

import msgspec

from gossamer.model.units import HostKey, Instant, Seconds


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the server saw it.

    `read_at` is when it had arrived whole; `written_at` is the last moment at which the response was not yet
    all handed to the kernel, so no client can have read its end before. A gap measured between the two is
    never shorter than the one the client kept: the audit accuses nobody falsely.
    `status` is 0 where the client left before it was answered; `written_at` is then when it left.
    """

    host: HostKey
    target: str
    status: int
    read_at: Instant
    written_at: Instant
    connection: int
    address: str  # the one of ours that the client had connected to
    retry_after: Seconds = Seconds(0.0)


class Recorder:
    """Keeps requests as they are finished; writes them to a file too if given one.

    Lines are buffered until `flush`, which whoever owns the recorder calls several times a second.
    """

    def __init__(self, log: Path | None = None, *, keep: bool = True) -> None:
        self.requests: list[Request] = []
        self.count = 0
        self._keep = keep
        self._encode = msgspec.json.Encoder().encode
        self._file: TextIOWrapper | None = log.open("a", encoding="utf-8") if log is not None else None

    def add(self, request: Request) -> None:
        self.count += 1
        if self._keep:
            self.requests.append(request)
        if self._file is not None:
            self._file.write(self._encode(request).decode())
            self._file.write("\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush and close the file. Safe to call twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_log(lines: Iterable[str]) -> list[Request]:
    """The requests of a log. A last line that is cut short (the server was killed) is left out."""
    return [msgspec.json.decode(line, type=Request) for line in lines if line.endswith("\n") and not line.isspace()]
