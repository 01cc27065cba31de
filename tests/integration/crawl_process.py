"""The command as a user runs it: real processes, real files, a simulated web on loopback."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.run import SimwebProcess
from tests.integration.fork_client import Forked

PATIENCE = 600.0
"""Seconds after which a process that should have ended is taken for hung. No test measures time by it."""

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process said, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> Json:
        """The object that `--json` promises as the last line."""
        found = json.loads(self.out.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    @property
    def lines(self) -> list[Json]:
        """Every line as an object."""
        return [json.loads(line) for line in self.out.splitlines()]


class Constants(dict[str, object]):
    """Other values for constants of the code, by their dotted names: `gossamer.config.policies.HOST_PATIENCE`.
    Given among the arguments of a command, they hold in its process. What a worker of several starts does not know
    them."""


GIVEN_UP_AT_ONCE = Constants(
    {"gossamer.config.policies.MAX_RETRY_DELAY": 0.5, "gossamer.config.policies.HOST_PATIENCE": 0.0}
)
"""What is tried again is tried soon, and a host that is down is given up at once."""


class Command:
    """A running `gossamer`. Leaving its block kills it, by its id, if it still runs."""

    def __init__(
        self, *arguments: object, cwd: Path | None = None, preexec: Callable[[], None] | None = None, stdin: str = ""
    ) -> None:
        constants = {name: value for each in arguments if isinstance(each, Constants) for name, value in each.items()}
        words = [str(each) for each in arguments if not isinstance(each, Constants)]
        assert preexec is None or not constants
        self.process = Forked(words, cwd, constants) if preexec is None else _begun(words, cwd, preexec)
        self._stdin = stdin

    def __enter__(self) -> "Command":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.process.communicate()

    def kill(self) -> None:
        """End it at once, and see its own processes to their end: we are asked to bury those of a process that is gone
        (tests/integration/fork_client.py)."""
        orphans = _children(self.process.pid) if self.process.poll() is None else []
        self.process.kill()
        self.process.wait()
        for orphan in orphans:
            wait_until(lambda: _is_buried(orphan), f"the end of process {orphan}")  # noqa: B023

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def strike(self, number: int) -> None:
        """Send a signal and wait until it has been taken: two that are pending at the same time are one."""
        self.process.send_signal(number)
        wait_until(lambda: not self._pending(number), f"signal {number} to be taken")

    def _pending(self, number: int) -> bool:
        if not self.runs:
            return False
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith("ShdPnd:"))
        return bool(int(mask, 16) >> (number - 1) & 1)

    def ended(self, patience: float = PATIENCE) -> Ended:
        """Wait for its end. Raises TimeoutExpired if it does not come."""
        out, err = self.process.communicate(self._stdin, timeout=patience)
        return Ended(self.process.returncode, out, err)


def _begun(arguments: Sequence[str], cwd: Path | None, preexec: Callable[[], None] | None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "gossamer", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        preexec_fn=preexec,
    )


def gossamer(
    *arguments: object, cwd: Path | None = None, preexec: Callable[[], None] | None = None, stdin: str = ""
) -> Ended:
    """Run a command to its end."""
    with Command(*arguments, cwd=cwd, preexec=preexec, stdin=stdin) as command:
        return command.ended()


def small_web(**wishes: float | str) -> SimWebConfig:
    """A web of a few hundred URLs with everything in it. Its text never changes, so a body can be compared."""
    usual: dict[str, float | str] = {
        "hosts": 30,
        "pages": 300,
        "max_host_pages": 0,
        "mean_bytes": 3_000,
        "links_per_page": 16,
        "nav_links": 4,
        "static_pages": 1.0,
        "crawl_delay_seconds": 0.3,
        "slow_seconds": 0.05,
        # Shorter than three tries take (`RETRY`), so that whatever recovers is found.
        "fault_seconds": 2.0,
    }
    return preset("demo", **{**usual, **wishes})


RETRY = "[retry]\ndelay = 1.0\n"


class Scene:
    """A simulated web and a crawl of it: its directory, its server's log, and the command to run."""

    def __init__(self, folder: Path, web: SimwebProcess, options: Sequence[object] = (), toml: str = RETRY) -> None:
        folder.mkdir(exist_ok=True)
        self.web = web
        self.dir = folder / "crawl"
        self.toml = folder / "gossamer.toml"
        self.toml.write_text(toml)
        self.log = folder / "requests.log"
        self._options = options

    @property
    def location(self) -> list[object]:
        """The store, if the options name one."""
        options = list(self._options)
        return options[options.index("--store") :][:2] if "--store" in options else []

    @property
    def command(self) -> list[object]:
        """The whole command, seeds included: what starts the crawl also resumes it."""
        return ["crawl", *self.web.seeds, *self.resume]

    @property
    def resume(self) -> list[object]:
        """The arguments without the seeds."""
        fixed = ["--dir", self.dir, "--config", self.toml, "--dns", self.web.dns_address]
        return [*fixed, "--allow-private", "--scope", "tld:test", "--json", "--quiet", "--delay", 0.03, *self._options]

    def pages(self, *options: object) -> list[Json]:
        """What `gossamer pages --json` prints."""
        ended = gossamer("pages", "--dir", self.dir, *self.location, "--json", *options)
        assert ended.status == 0, ended.err
        return ended.lines


@contextlib.contextmanager
def scene(
    folder: Path, config: SimWebConfig | None = None, options: Sequence[object] = (), toml: str = RETRY
) -> Iterator[Scene]:
    """Serve a web while the block runs. Its log is complete afterwards."""
    folder.mkdir(exist_ok=True)
    with SimwebProcess(config or small_web(), log=folder / "requests.log") as web:
        yield Scene(folder, web, options, toml)


def wait_until(what: Callable[[], object], why: str, patience: float = PATIENCE) -> None:
    """Look every few milliseconds until `what` is true. Fails with `why` if it never is."""
    pause = threading.Event()
    for _ in range(int(patience / 0.005)):
        if what():
            return
        pause.wait(0.005)
    raise AssertionError(f"waited in vain for {why}")


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except FileNotFoundError:  # it has ended
        return []


def _is_buried(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:  # somebody else's
        return not Path(f"/proc/{pid}").exists()


def wait_for_requests(stage: Scene, crawler: Command, more_than: int) -> None:
    """Until the server has noted more than so many requests. Fails at once if the crawler ends before."""
    wait_until(lambda: answered(stage.log) > more_than or not crawler.runs, f"{more_than + 1} requests")
    if answered(stage.log) <= more_than:
        ended = crawler.ended()
        raise AssertionError(f"ended after {answered(stage.log)} requests with status {ended.status}: {ended.err}")


def answered(log: Path) -> int:
    """How many requests the server has noted so far."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def side_by_side(*jobs: Callable[[], object]) -> None:
    """Run jobs at the same time: they mostly wait. The first failure is raised when all have ended."""
    failures: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def now() -> float:
    """Wall-clock time, as the server's log has it."""
    return time.time()
