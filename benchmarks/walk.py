"""Trace the crawl of one page through the source tree: which packages does a reader who follows a URL pass through?

`python -m benchmarks.walk` crawls a site of one page and prints the packages in the order in which the crawl enters
them, with the number of changes of package. It takes a few seconds, and every run gives the same trace.

  python -m benchmarks.walk --json before.json
  python -m benchmarks.walk --compare before.json     exit status 1 if the changes exceed --at-most percent of before

What counts:

- A step is the first call of a Python function of `gossamer`. Later calls of the same function do not count, as a
  reader reads a function once. Steps are in the order of their calls, beginning with `gossamer.cli.main.main`.
- A package is a folder or a module directly below `gossamer`: `crawl/visit/request.py` belongs to `crawl`,
  `cli/main.py` to `cli`.
- A change of package is a step into another package than that of the step before.
- Trivial functions do not count: those with a single statement, properties, methods that Python calls by itself
  (`__init__`, `__len__`), lambdas, comprehensions, and code that is generated (dataclasses) or that runs during an
  import. Neither do `clock`, `errors`, `version`, `native`, and the simulated web and simulators (`lab`).
- Work that is handed to a pool of threads is listed where it is handed over: the trace makes `submit` wait for the
  result. A thread that runs by itself (the one that writes the log) comes last, with the functions that only it calls.

The crawl is the command `gossamer crawl` with one visit at a time, a page limit of one, and no display. Its timers do
not expire, so what happens at intervals is traced only if the end of the crawl runs it as well. The web server and the
name server of the site run in another process. The trace follows the checkout that this file is in, whatever is
installed; it depends on no module of `gossamer` but the entry point, so that trees with other packages can be compared.
"""

import argparse
import ast
import concurrent.futures
import inspect
import json
import os
import platform
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.instructions import environment, whole_path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "gossamer"
NOT_ON_THE_WAY = frozenset({"clock", "errors", "lab", "native", "simulate", "simweb", "version"})
HOST = "page.test"
PAGE = """<!doctype html>
<html lang="en"><head><title>The page</title></head>
<body><h1>The page</h1><p>Two pages of this site, <a href="/second">the second</a> and <a href="third?of=3">the
third</a>, and <a href="http://elsewhere.test/">another site</a>.</p></body></html>
"""
ROBOTS = "User-agent: *\nDisallow: /sitemap.xml\n"
TIME_LIMIT_S = 300


class CannotTrace(Exception):
    """There is no trace; the message says why."""


class Call(NamedTuple):
    """The first call of a function: its file below the source folder, its qualified name, the line it begins in."""

    file: str
    function: str
    line: int


@dataclass(frozen=True, slots=True)
class Stay:
    """Steps in a row that are in one package."""

    package: str
    steps: tuple[Call, ...]


# --- recording ------------------------------------------------------------------------------------------------


class Recorder:
    """Records the first call of each function below `source`, for the main thread and the pools of threads together
    (`main`), and for each other thread (`others`, by name)."""

    def __init__(self, source: Path) -> None:
        self.main: dict[Call, None] = {}
        self.others: dict[str, dict[Call, None]] = {}
        self._prefix = f"{source}{os.sep}"
        self._thread = threading.local()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record calls of this thread and of those it starts."""
        pool = concurrent.futures.ThreadPoolExecutor
        submit = pool.submit

        def submit_and_wait(
            executor: concurrent.futures.ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **named: Any
        ) -> concurrent.futures.Future[Any]:
            def work() -> Any:
                self._thread.calls = self.main
                return function(*args, **named)

            future = submit(executor, work)
            concurrent.futures.wait([future])
            return future

        self._thread.calls = self.main
        pool.submit = submit_and_wait  # type: ignore[assignment, method-assign]
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            pool.submit = submit  # type: ignore[method-assign]

    def _on_event(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self._prefix):
            return
        thread = self._thread
        if code.co_name == "<module>":
            thread.imports = getattr(thread, "imports", 0) + (1 if event == "call" else -1)
        elif event == "call" and code.co_flags & inspect.CO_OPTIMIZED and not getattr(thread, "imports", 0):
            file = code.co_filename[len(self._prefix) :]
            self._calls().setdefault(Call(Path(file).as_posix(), code.co_qualname, code.co_firstlineno))

    def _calls(self) -> dict[Call, None]:
        calls: dict[Call, None] | None = getattr(self._thread, "calls", None)
        if calls is None:
            calls = self._thread.calls = self.others.setdefault(threading.current_thread().name, {})
        return calls


def record(arguments: Sequence[str], file: Path) -> None:
    """Run `gossamer crawl` with the arguments, and write its calls to the file."""
    recorder = Recorder(SOURCE)
    with recorder.recording():
        whole_path(list(arguments))
    calls = {"main": list(recorder.main), "others": {name: list(calls) for name, calls in recorder.others.items()}}
    file.write_text(json.dumps(calls), encoding="utf-8")


# --- the site -------------------------------------------------------------------------------------------------


class Site:
    """A site of one page on the loopback interface, with its name server. `requested` has the paths of the requests."""

    def __init__(self) -> None:
        requested = self.requested = list[str]()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                requested.append(self.path)
                kind, text = ("text/plain", ROBOTS) if self.path == "/robots.txt" else ("text/html", PAGE)
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._names.bind(("127.0.0.1", 0))
        self.url = f"http://{HOST}:{self._web.server_port}/"
        self.name_server = f"127.0.0.1:{self._names.getsockname()[1]}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        threading.Thread(target=self._web.serve_forever, daemon=True).start()
        threading.Thread(target=self._serve_names, daemon=True).start()
        try:
            yield
        finally:
            self._web.shutdown()
            self._web.server_close()
            self._names.sendto(b"", self._names.getsockname())  # ends its thread

    def _serve_names(self) -> None:
        with self._names:
            while True:
                query, sender = self._names.recvfrom(512)
                if not query:
                    return
                self._names.sendto(dns_answer(query), sender)


def dns_answer(query: bytes) -> bytes:
    """The answer to a query with one question: every name has the address 127.0.0.1, and no other records."""
    end = query.index(0, 12) + 5  # of the question: a name, its type and its class
    address = b""
    if query[end - 4 : end - 2] == b"\0\1":  # A; the name is that at offset 12
        address = struct.pack(">HHHIH4s", 0xC00C, 1, 1, 300, 4, socket.inet_aton("127.0.0.1"))
    head = query[:2] + struct.pack(">HHHHH", 0x8580, 1, 1 if address else 0, 0, 0)  # authoritative, no error
    return head + query[12:end] + address


def trace() -> list[Call]:
    """Crawl the page in a process of its own. Raises CannotTrace if that fails or if it crawls anything else."""
    site = Site()
    with tempfile.TemporaryDirectory(prefix="gossamer-walk-") as folder, site.serving():
        place = Path(folder)
        calls = place / "calls.json"
        fixed = ["--dns", site.name_server, "--dir", str(place / "crawl"), "--allow-private", "--max-pages", "1"]
        fixed += ["--delay", "0", "--delay-factor", "0", "--concurrency", "1", "--quiet"]
        env = environment(place)
        del env["PYTHONPYCACHEPREFIX"]  # modules may come from the cache: importing does not count
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.walk", "--record", str(calls), site.url, *fixed],
            env=env,
            cwd=place,  # where there is no gossamer.toml
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
        )
        if done.returncode:
            raise CannotTrace(f"the crawl failed with exit status {done.returncode}:\n{done.stderr[-3_000:]}")
        if site.requested != ["/robots.txt", "/"]:
            raise CannotTrace(f"expected requests for /robots.txt and /, not {site.requested}")
        found = json.loads(calls.read_text(encoding="utf-8"))
    others = [[Call(*call) for call in thread] for _, thread in sorted(found["others"].items())]
    return join([Call(*call) for call in found["main"]], others)


# --- counting -------------------------------------------------------------------------------------------------


def join(main: Iterable[Call], others: Iterable[Iterable[Call]]) -> list[Call]:
    """One sequence: the main one, then of each thread the functions that are not yet in it."""
    calls = dict.fromkeys(main)
    for thread in others:
        calls.update(dict.fromkeys(thread))
    return list(calls)


def package_of(file: str) -> str:
    """The folder or module below `gossamer` that the file is in."""
    return file.partition("/")[0].removesuffix(".py")


def nontrivial_lines(source: str) -> set[int]:
    """The first lines (decorators included) of the functions in a module that count as steps."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_trivial(node):
            lines.add(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]))
    return lines


def _is_trivial(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if function.name.startswith("__") and function.name.endswith("__"):
        return True
    if any(ast.unparse(decorator).endswith("property") for decorator in function.decorator_list):
        return True
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement)) < 2


def steps_of(calls: Iterable[Call], source: Path) -> list[Call]:
    """The calls that count."""
    lines: dict[str, set[int]] = {}
    steps = []
    for call in calls:
        if package_of(call.file) in NOT_ON_THE_WAY:
            continue
        if call.file not in lines:
            lines[call.file] = nontrivial_lines((source / call.file).read_text(encoding="utf-8"))
        if call.line in lines[call.file]:
            steps.append(call)
    return steps


def stays_of(steps: Iterable[Call]) -> list[Stay]:
    """The steps by package, in their order; the changes of package are one less than the stays."""
    return [Stay(package, tuple(group)) for package, group in groupby(steps, key=lambda step: package_of(step.file))]


# --- reporting ------------------------------------------------------------------------------------------------


def summary(stays: Sequence[Stay]) -> dict[str, int]:
    return {
        "changes": max(len(stays) - 1, 0),
        "packages": len({stay.package for stay in stays}),
        "files": len({step.file for stay in stays for step in stay.steps}),
        "steps": sum(len(stay.steps) for stay in stays),
    }


def report(stays: Sequence[Stay]) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "machine": f"Python {platform.python_version()}, {platform.machine()}",
        **summary(stays),
        "stays": [
            {"package": stay.package, "steps": [f"{step.file}:{step.line} {step.function}" for step in stay.steps]}
            for stay in stays
        ],
    }


def rows(stays: Sequence[Stay]) -> list[str]:
    """The trace, one line for each stay with its modules and how many functions of each; a table of the packages."""
    width = max((len(stay.package) for stay in stays), default=0)
    lines = []
    for number, stay in enumerate(stays, 1):
        modules = groupby(step.file.removesuffix(".py") for step in stay.steps)
        visited = ", ".join(f"{module} {sum(1 for _ in calls)}" for module, calls in modules)
        lines.append(f"{number:4}  {stay.package:{width}}  {visited}")
    lines += ["", f"{'package':{width}} {'entered':>8} {'files':>6} {'functions':>10}"]
    by_package: dict[str, list[Stay]] = {}
    for stay in stays:
        by_package.setdefault(stay.package, []).append(stay)
    for package, of_package in sorted(by_package.items(), key=lambda item: (-len(item[1]), item[0])):
        total = summary(of_package)
        lines.append(f"{package:{width}} {len(of_package):8} {total['files']:6} {total['steps']:10}")
    return lines


def total_line(total: Mapping[str, int]) -> str:
    return "{steps} functions in {files} files of {packages} packages, {changes} changes of package".format(**total)


def comparison(now: Mapping[str, int], before: Mapping[str, int]) -> str:
    ratio = now["changes"] / before["changes"]
    return f"changes of package: {now['changes']} now, {before['changes']} before, {ratio:.1%}"


def exceeds(now: Mapping[str, int], before: Mapping[str, int], percent: float) -> bool:
    """Whether the changes of package are more than this percentage of those before."""
    return 100 * now["changes"] > percent * before["changes"]


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.walk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the trace and the numbers to FILE")
    parser.add_argument("--compare", metavar="FILE", type=Path, help="show the ratio to the numbers in FILE")
    parser.add_argument(
        "--at-most",
        metavar="PERCENT",
        type=float,
        default=60.0,
        help="allowed changes of package, in percent of those in the compared FILE (default: 60)",
    )
    return parser


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--record"]:
        record(arguments[2:], Path(arguments[1]))
        return 0
    chosen = options().parse_args(arguments)
    before = json.loads(chosen.compare.read_text(encoding="utf-8")) if chosen.compare else None
    try:
        stays = stays_of(steps_of(trace(), SOURCE))
    except (CannotTrace, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.json:
        chosen.json.write_text(json.dumps(report(stays), indent=2) + "\n", encoding="utf-8")
    now = summary(stays)
    print("\n".join([*rows(stays), "", total_line(now)]))
    if before is None:
        return 0
    print(f"before: {total_line(before)}")
    print(comparison(now, before))
    return int(exceeds(now, before, chosen.at_most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
