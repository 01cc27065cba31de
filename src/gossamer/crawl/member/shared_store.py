"""The store of a crawl that several workers share, as one of them uses it."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from gossamer.cluster.ports import Session
from gossamer.errors import StoreFailed
from gossamer.model.partition import PartitionList
from gossamer.model.units import Epoch, Seconds
from gossamer.store.ports import Database, Tables
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter
from gossamer.store.threads import ReaderThread, WriterThread

T = TypeVar("T")


class SharedTables(Tables, Protocol):
    """The tables of a crawl that several workers share."""

    def prepare(self, partitions: int | None = None) -> int:
        """Create or migrate the tables. Returns the number of partitions; with another one than there is, raises
        NotThisCrawl. Raises StoreFailed."""
        ...

    def name_worker(self, name: str) -> None:
        """The server shows this name with connections of a worker that are opened from now on."""
        ...

    def open_session(self, waiting: Seconds) -> Session:
        """A connection for the protocol, opened when it is first used."""
        ...

    def open_worker(self, epoch: Epoch, partitions: PartitionList) -> Database:
        """The connection on which a worker commits, behind its fence."""
        ...

    def open_worker_reader(self, epoch: Epoch, partitions: PartitionList) -> Database:
        """A connection that reads the queues of these partitions."""
        ...


class StoreAccess(NamedTuple):
    """The store of a running crawl: the thread that commits and its writer, the thread that reads and its loader."""

    thread: WriterThread
    writer: TableWriter
    reads: ReaderThread
    loader: TableLoader


class SharedStore:
    """Runs statements for the parts of a worker, on the event loop. Nothing can be run before `attach`."""

    def __init__(self) -> None:
        self._access: StoreAccess | None = None

    def attach(self, access: StoreAccess) -> None:
        """The store is open."""
        self._access = access

    async def call(self, use: Callable[[TableWriter], T]) -> T:
        """Use the writer in its thread, between two commits. Raises StoreFailed, WorkerEnded."""
        thread, writer, _, _ = self._attached()
        return await thread.call(lambda: use(writer))

    async def write(self, work: Callable[[Database], T]) -> T:
        """Run statements in a transaction behind the fence. Raises StoreFailed, WorkerEnded."""
        return await self.call(lambda writer: writer.run(work))

    async def look(self, use: Callable[[Database], None]) -> None:
        """Read, on the connection of the loader. Raises StoreFailed."""
        await self.read(lambda loader: loader.read(use))

    async def read(self, use: Callable[[TableLoader], T]) -> T:
        """Use the loader in its thread. Raises StoreFailed, also when the crawl is over and its spool is being
        delivered."""
        _, _, reads, loader = self._attached()
        if reads.is_closed:
            raise StoreFailed("the crawl has ended")
        return await reads.ask(use, loader)

    @property
    def has_uncounted(self) -> bool:
        """Whether links of pages in partitions of this worker are not counted yet."""
        return self._attached().writer.has_uncounted

    def _attached(self) -> StoreAccess:
        assert self._access is not None, "attached first"
        return self._access
