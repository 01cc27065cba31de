"""Memory of a crawl that meets a page made to use it up: the whole process tree, above that of a crawl of a small page.

Each body is served once, to a crawl in a process of its own. The memory of this process and of its children is added up
every few milliseconds; what they share is counted once (the kernel's `Pss`). `report` is what the crawl itself reports
as `max_rss_bytes`, the sum of the peaks of its processes.
"""

import contextlib
import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import brotli  # type: ignore[import-untyped]
import zstandard

from benchmarks.crawling import scratch

MIB = 1 << 20
LARGEST = 64 * MIB
SIZE = 10 * MIB  # fetch.max_body_bytes
_PAUSE = 0.004


def _repeated(unit: bytes) -> Callable[[], bytes]:
    return lambda: (unit * (SIZE // len(unit) + 1))[:SIZE]


def _skippable_frames() -> bytes:
    return (b"\x50\x2a\x4d\x18" + (8).to_bytes(4, "little") + bytes(8)) * (SIZE // 16)


def _links() -> bytes:
    return b"".join(b"<a href=/%d>x</a>\n" % n for n in range(1_000_000))[:SIZE]


def _chunked(body: bytes) -> bytes:
    pieces = (body[at : at + 4000] for at in range(0, len(body) - len(body) // 100, 4000))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


BODIES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a small page": (lambda: b"<title>x</title><p>hello", ""),
    "NULs": (lambda: bytes(SIZE), ""),
    "gzip bomb": (lambda: gzip.compress(bytes(100 * MIB)), "gzip"),
    "brotli bomb": (lambda: brotli.compress(bytes(100 * MIB), quality=5), "br"),
    "zstd bomb": (lambda: zstandard.compress(bytes(100 * MIB)), "zstd"),
    "gzip without compression": (lambda: gzip.compress(_repeated(b"<p>")(), 0), "gzip"),
    "zstd skippable frames": (_skippable_frames, "zstd"),
    "<p> repeated": (_repeated(b"<p>"), ""),
    "<p> repeated, in chunks": (lambda: _chunked(_repeated(b"<p>")()), "chunked"),
    "a million links": (_links, ""),
    "long links": (_repeated(b"<a href='/" + b"x" * 16_000 + b"'>x</a>"), ""),
    "too long links": (_repeated(b"<a href='/" + b"x" * 100_000 + b"'>x</a>"), ""),
    "attributes": (lambda: b"<p " + b" ".join(b"x%d=1" % n for n in range(1_000_000))[:SIZE], ""),
    "empty attributes": (lambda: b"<p" + b" a b c d e f" * (SIZE // 12), ""),
    "nested formatting": (_repeated(b"<a href=1><b>"), ""),
    "tables": (_repeated(b"<table><tr><td>"), ""),
    "UTF-16": (lambda: b"\xff\xfe" + ("<p>\u0142" * (SIZE // 8)).encode("utf-16-le"), ""),
    "one tag name": (_repeated(b"<x"), ""),
    "words": (lambda: b" ".join(b"word%d" % n for n in range(1_200_000))[:SIZE], ""),
}
"""Name -> the body as it is sent, and its Content-Encoding (or `chunked`)."""


class Figures(NamedTuple):
    """Memory in bytes, and what the report says about the page."""

    most: int
    reported: int
    reason: str


@contextlib.contextmanager
def serving(body: bytes, coding: str) -> Iterator[str]:
    """Answers every request except robots.txt with the body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = self.path != "/robots.txt"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            if found and coding == "chunked":
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(len(body) if found else 0))
                if found and coding:
                    self.send_header("Content-Encoding", coding)
            self.end_headers()
            if found:
                with contextlib.suppress(OSError):  # the crawl closes the connection at its limit
                    self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def memory_of(pid: int) -> int:
    """The memory of a process, without what is counted for another one; 0 if it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def with_descendants(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text(encoding="ascii").split():
                yield from with_descendants(int(child))


def crawl(body: bytes, coding: str) -> Figures:
    """Crawl one page with this body."""
    with scratch() as place, serving(body, coding) as url:
        command = [sys.executable, "-m", "gossamer", "crawl", url, "--dir", str(place / "crawl"), "--max-depth", "0"]
        command += ["--allow-private", "--json", "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        most = 0
        while process.poll() is None:
            most = max(most, sum(map(memory_of, with_descendants(process.pid))))
            time.sleep(_PAUSE)
        report = json.loads(process.stdout.read().splitlines()[-1]) if process.stdout is not None else {}
        return Figures(most, report["max_rss_bytes"], ", ".join(report["errors"]) or "stored")


def main() -> int:
    wanted = sys.argv[1:] or list(BODIES)
    small = min((crawl(BODIES["a small page"][0](), "") for _ in range(3)), key=lambda figures: figures.most)
    print(f"a small page: {small.most / MIB:.1f} MiB, and above that:\n{'':26} {'tree':>6} {'report':>6} MiB")
    above = {}
    for name in wanted:
        body, coding = BODIES[name]
        found = crawl(body(), coding)
        above[name] = found.most - small.most
        figures = (found.most - small.most, found.reported - small.reported)
        print(f"{name:26} {' '.join(f'{each / MIB:6.1f}' for each in figures)}     {found.reason}", flush=True)
    print(f"at most {max(above.values()) / MIB:.1f} MiB (goal: {LARGEST // MIB})")
    return 0 if max(above.values()) <= LARGEST else 1


if __name__ == "__main__":
    sys.exit(main())
