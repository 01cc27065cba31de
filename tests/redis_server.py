"""Private Redis servers and Sentinels for the tests that need them, which may kill, stop and flush them.

They listen on loopback, keep everything in memory, and end with the test process, however that ends. Debian's packages
are unpacked next to the tests, with the libraries they need.
"""

import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import redis

from tests.debian import unpacked
from tests.integration.crawl_process import PATIENCE, wait_until

_PR_SET_PDEATHSIG = 1
_LIBRARIES = ("libjemalloc2", "liblzf1", "libatomic1")


@cache
def _program() -> tuple[str, dict[str, str]]:
    """The one program that is server and Sentinel, by the name it is started under, and its environment."""
    folders = [str(place) for each in _LIBRARIES for place in unpacked(each).glob("usr/lib/*-linux-gnu*")]
    path = ":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    return str(unpacked("redis-tools") / "usr/bin/redis-check-rdb"), {**os.environ, "LD_LIBRARY_PATH": path}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class RedisServer:
    """One server, or a Sentinel. `start`, `kill` and the others are called from one thread, which outlives it."""

    def __init__(
        self, folder: Path, settings: Mapping[str, object] | None = None, *, name: str = "redis-server"
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self._name = name
        self._settings = {"save": '""', "appendonly": "no"} if name == "redis-server" else {}
        self._settings |= {key: str(value) for key, value in (settings or {}).items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> "redis.Redis":
        """For looking at it from outside."""
        return redis.Redis(port=self.port, password=self._settings.get("requirepass"))

    def start(self) -> None:
        """Start it, also after it was killed, and wait until it answers."""
        lines = [f"port {self.port}", "bind 127.0.0.1", f"dir {self.folder}"]
        lines += [f"{key} {value}" for key, value in self._settings.items()]
        configuration = self.folder / f"{self.port}.conf"
        if not configuration.exists():  # else a Sentinel may have changed it
            configuration.write_text("\n".join(lines) + "\n")
        program, environment = _program()
        with open(self.folder / f"{self.port}.log", "ab") as log:
            self._process = subprocess.Popen(
                [self._name, str(configuration)],
                executable=program,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_end_with_parent,
            )
        wait_until(self._answers, "Redis to answer", PATIENCE)

    def _answers(self) -> bool:
        assert self._process is not None
        if (ended := self._process.poll()) is not None:
            raise RuntimeError(f"{self._name} has ended with {ended}: {self.log()[-2000:]}")
        try:
            return bool(self.client().ping())
        except redis.RedisError:
            return False

    def log(self) -> str:
        return (self.folder / f"{self.port}.log").read_text(errors="replace")

    def kill(self) -> None:
        """kill -9. Everything in it is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def hang(self) -> None:
        """It accepts connections and answers nothing, until `wake`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def _end_with_parent() -> None:
    """In the child: Linux kills it when the thread ends that has started it."""
    os.setpgid(0, 0)  # a key pressed in the terminal is for the tests
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def running_redis(folder: Path, settings: Mapping[str, object] | None = None) -> Iterator[RedisServer]:
    server = RedisServer(folder, settings)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class SentinelGroup:
    """Two servers, of which one replicates the other, and three Sentinels that watch over them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.primary = stack.enter_context(running_redis(folder / "one"))
        self.replica = stack.enter_context(
            running_redis(
                folder / "two", {"replicaof": f"127.0.0.1 {self.primary.port}", "repl-diskless-sync-delay": 0}
            )
        )
        wait_until(self._is_in_step, "the replica to be in step")
        self.sentinels = []
        for number in range(3):
            watched = f"monitor crawl 127.0.0.1 {self.primary.port} 2"
            settings = {"sentinel": watched}
            sentinel = RedisServer(folder / f"sentinel{number}", settings, name="redis-sentinel")
            stack.callback(sentinel.kill)
            sentinel.start()
            sentinel.client().sentinel_set("crawl", "down-after-milliseconds", 300)
            sentinel.client().sentinel_set("crawl", "failover-timeout", 2000)
            self.sentinels.append(sentinel)
        wait_until(self._all_known, "the Sentinels to know each other")

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{each.port}' for each in self.sentinels)}/crawl"

    def _is_in_step(self) -> bool:
        found: Any = self.replica.client().info("replication")
        return bool(found["master_link_status"] == "up")

    def _all_known(self) -> bool:
        found: list[Any] = [each.client().sentinel_master("crawl") for each in self.sentinels]
        return all(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1 for state in found)

    def current(self) -> int:
        """The port of the primary, as the first Sentinel says."""
        found: Any = self.sentinels[0].client().sentinel_get_master_addr_by_name("crawl")
        return int(found[1])

    def server(self) -> RedisServer:
        """The primary, as the first Sentinel says."""
        port = self.current()
        return next(each for each in (self.primary, self.replica) if each.port == port)

    def fail_over(self) -> None:
        """Order the first Sentinel to promote the replica. It does so in its own time."""
        self.sentinels[0].client().sentinel_failover("crawl")

    def is_whole(self) -> bool:
        """Whether both servers run, and one of them replicates the other: a fail-over is possible."""
        with suppress(redis.RedisError):
            found: Any = self.server().client().info("replication")
            replicas = [found.get("slave0", {}).get("state")] if found["role"] == "master" else []
            return replicas == ["online"]
        return False


@contextmanager
def running_sentinels(folder: Path) -> Iterator[SentinelGroup]:
    with ExitStack() as stack:
        yield SentinelGroup(folder, stack)
