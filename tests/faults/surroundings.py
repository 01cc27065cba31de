"""What a crawl by several workers stands on: a simulated web, PostgreSQL, object storage, Redis with Sentinel.

All are real servers, private to one run. The workers reach PostgreSQL and the object storage through networks that can
be made to fail.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from gossamer.lab.simweb.config import SimWebConfig
from tests.backends.postgres.failing_proxy import FailingProxy
from tests.failing_storage import FailingStorage
from tests.faults.server_clock import ServerClock
from tests.integration.crawl_process import Scene, scene, small_web
from tests.machine import Machine
from tests.postgres_server import PostgresServer, running_postgres
from tests.redis_server import SentinelGroup, running_sentinels
from tests.s3_server import BUCKET, S3Server, s3_server

DELAY, DELAY_FACTOR, MAX_ADAPTIVE_DELAY = 0.5, 2.0, 3.0
"""Politeness of the crawl, in seconds."""
HOSTS = 48
SPOOL_BYTES = 500_000
DISK = "2m"
"""Size of the disk that has the spool of the first worker."""
_EXPONENT = 0.32
"""The smallest third of the hosts has a third of the pages of the largest, because three of them share an address, or
their Crawl-delay is longer."""
_PROGRESS = 0.7
"""The share of the time in which a host can be contacted, in spite of all the faults. About."""
_POSTGRES_PORT = 5432


def lasting_web(seed: int, seconds: float) -> SimWebConfig:
    """A web whose crawl takes about this long: its largest hosts have as many pages as politeness allows in it."""
    largest = max(8.0, _PROGRESS * seconds / (DELAY + 0.05))
    pages = int(largest * sum(rank**-_EXPONENT for rank in range(1, HOSTS + 1)))
    return small_web(
        seed=seed,
        hosts=HOSTS,
        pages=pages,
        host_exponent=_EXPONENT,
        crawl_delay_hosts=0.1,
        crawl_delay_seconds=3 * DELAY,
        shared_address_hosts=0.2,
        seed_hosts=HOSTS // 4,
        duplicate_rate=0.05,
        fault_rate=0.0,
    )


class Surroundings:
    """The servers of one run, and the crawl that uses them."""

    def __init__(
        self,
        stage: Scene,
        database: PostgresServer,
        clock: ServerClock | None,
        network: FailingProxy,
        store: str,
        s3: S3Server,
        storage: FailingStorage,
        place: str,
        cache: SentinelGroup,
    ) -> None:
        self.stage = stage
        self.database, self.clock = database, clock
        self.network = network
        """Between the workers and the database."""
        self.store = store
        """The database of the crawl, past that network."""
        self.s3, self.storage, self.place = s3, storage, place
        self.cache = cache

    def start_database(self) -> None:
        """After it was killed."""
        with nullcontext() if self.clock is None else self.clock.applied():
            self.database.start()

    @property
    def store_of_workers(self) -> str:
        return self.network.url(self.store)

    def machine(self) -> Machine:
        """A machine from which everything can be reached, PostgreSQL at `store_inside`."""
        made = Machine()
        try:
            made.pass_on(_POSTGRES_PORT, self.network.socket)
            redis = (*self.cache.sentinels, self.cache.primary, self.cache.replica)
            for port in {self.stage.web.http_port, self.storage.port, *(each.port for each in redis)}:
                made.pass_on(port)
            made.pass_on_datagrams(int(self.stage.web.dns_address.rpartition(":")[2]))
        except BaseException:
            made.close()
            raise
        return made

    @property
    def store_inside(self) -> str:
        """As `store_of_workers`, for a worker on a machine of its own."""
        database = self.store.partition("?")[0].rpartition("/")[2]
        user = self.store.partition("://")[2].partition("@")[0]
        return f"postgresql://{user}@127.0.0.1:{_POSTGRES_PORT}/{database}"


@contextmanager
def surroundings(folder: Path, web: SimWebConfig, ttl: float, clock: ServerClock | None) -> Iterator[Surroundings]:
    """`clock` of the database server, if it is not that of the machine."""
    with ExitStack() as stack:
        with nullcontext() if clock is None else clock.applied():
            database = stack.enter_context(running_postgres())
        # Short enough for the name of a socket.
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-proxy-")))
        network = stack.enter_context(FailingProxy(database, sockets))
        s3 = stack.enter_context(s3_server())
        storage = stack.enter_context(FailingStorage(s3))
        cache = stack.enter_context(running_sentinels(folder / "redis"))
        store, place = database.create_database(), f"{BUCKET}/faults"
        options = ["--delay", DELAY, "--delay-factor", DELAY_FACTOR, "--store", network.url(store), "--unsafe-store"]
        options += ["--blobs", storage.url(place), "--cache", cache.url]
        toml = (
            f"[retry]\ndelay = 1.0\n[cluster]\nttl = {ttl}\n[politeness]\nmax_adaptive_delay = {MAX_ADAPTIVE_DELAY}\n"
            f"[cache]\ndocuments = 2000\n[objects]\nlinger = 0.5\nspool_bytes = {SPOOL_BYTES}\n"
            "[log]\nrotate_bytes = 1_000_000_000\n"
        )
        stage = stack.enter_context(scene(folder, web, options, toml))
        yield Surroundings(stage, database, clock, network, store, s3, storage, place, cache)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A small file system at `folder`. False if mounting one is not permitted."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "faults", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
