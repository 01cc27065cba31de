"""Reads the document stream of a crawl as a consumer of a group.

Redis delivers each entry to one consumer of the group, and keeps it pending until it is acknowledged. What a consumer
has not acknowledged for a while is claimed by another one, so every announced document is processed at least once.

Documents are numbered by the worker that stores them. The last number that a group has received of each epoch is in a
hash next to the stream; it is read and written by the same script that reads entries, so consumers that read at the
same time see each gap once.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.backends.redis.address import CacheAddress, Server, parse_address
from gossamer.backends.redis.document_log import CRAWLS, stream_of
from gossamer.errors import ConnectionLost, UsageError
from gossamer.model.announcement import StreamedDocument

T = TypeVar("T")

AT_ONCE: Final = 10
"""Entries that a consumer takes at a time."""
_CONNECT_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.5  # between two attempts to connect
_BLOCK_SECONDS: Final = 1.0  # for new entries, at a time
_AWAY = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    redis.BusyLoadingError,
    redis.exceptions.MasterDownError,
)

# KEYS: the stream, the numbers of the group. ARGV: group, consumer, how many. Entries begin with `epoch` and `serial`,
# and the first ones of an epoch go on with `after`: the epoch before, and its last number.
# Without an entry, the answer is the id of the last one that there is.
_READ: Final = """
local found = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
if not found then
  local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
  return {{}, {}, last[1] and last[1][1] or '0-0'}
end
local entries, gaps = found[1][2], {}
for i, entry in ipairs(entries) do
  local epoch, serial = entry[2][2], tonumber(entry[2][4])
  local last = redis.call('HGET', KEYS[2], epoch)
  if not last then last = redis.call('HEXISTS', KEYS[2], 'all') == 1 and 0 or serial - 1 end
  gaps[i] = math.max(serial - last - 1, 0)
  if entry[2][5] == 'after' then
    local before, stored = string.match(entry[2][6], '(%d+) (%d+)')
    local known = redis.call('HGET', KEYS[2], before)
    if not known then known = redis.call('HEXISTS', KEYS[2], 'all') == 1 and 0 or stored end
    gaps[i] = gaps[i] + math.max(stored - known, 0)
    redis.call('HSET', KEYS[2], before, math.max(stored, known))
  end
  redis.call('HSET', KEYS[2], epoch, math.max(serial, last))
end
return {entries, gaps, ''}
"""

_Entry = tuple[bytes, dict[bytes, bytes]]
_Delivery = tuple[bytes, StreamedDocument]


class DocumentReader:
    """One consumer of a group. Used from one thread.

    Waits for a server that is away, and for one that was replaced by an empty one. Documents that were read and not
    acknowledged by the end are delivered again, to this consumer when it comes back, or to another one.
    """

    def __init__(
        self, url: str, group: str, consumer: str, *, crawl: str | None, new_only: bool, claim_after: float
    ) -> None:
        """`crawl` is the id of the crawl; it may be left out if the server has the stream of one crawl only.
        `new_only`: a new group begins with what is announced from now on. Entries that were not acknowledged for
        `claim_after` seconds are taken from their consumers. Raises UsageError for a URL or a crawl that cannot be
        used, ConnectionLost if the server cannot be reached."""
        self._address = parse_address(url)
        self._group, self._consumer = group, consumer
        self._new_only = new_only
        self._claim_ms = max(1, int(claim_after * 1000))
        self._pause = threading.Event()  # never set
        self._numbers: dict[str, int] = {}  # by epoch: the last that this consumer has received
        self._own_first = True  # entries of this consumer that were not acknowledged
        self._client: redis.Redis | None = None
        try:
            self._client = self._connect()
            self._crawl = crawl or self._only_crawl(self._client)
        except redis.RedisError as error:
            raise ConnectionLost(f"cannot read the documents of {self._address}: {error}") from None
        self._stream = stream_of(self._crawl)
        self._hash = f"{self._stream}:{group}"
        self._call(self._join)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def documents(self, patience: float | None) -> Iterator[StreamedDocument]:
        """Documents as they come. Each is acknowledged when the next one is asked for. Ends after `patience` seconds
        without one; None: never."""
        idle, wait = 0.0, _BLOCK_SECONDS if patience is None else min(_BLOCK_SECONDS, patience)
        while patience is None or idle < patience:
            found = self._pending() or self._claimed() or self._new(wait)
            idle = 0.0 if found else idle + wait
            for number, document in found:
                yield document
                self._call(lambda client: client.xack(self._stream, self._group, number))  # noqa: B023

    # --- entries -------------------------------------------------------------------------------------

    def _pending(self) -> list[_Delivery]:
        """What this consumer did not acknowledge in an earlier life, or before the connection was lost."""
        if not self._own_first:
            return []

        def read(client: "redis.Redis") -> list[_Entry]:
            found: Any = client.xreadgroup(self._group, self._consumer, {self._stream: "0"}, AT_ONCE)
            return list(found[0][1]) if found else []

        found = self._repeats(self._call(read))
        self._own_first = bool(found)
        return found

    def _claimed(self) -> list[_Delivery]:
        """What other consumers did not acknowledge in time."""

        def claim(client: "redis.Redis") -> list[_Entry]:
            found: Any = client.xautoclaim(self._stream, self._group, self._consumer, self._claim_ms, "0-0", AT_ONCE)
            return list(found[1])

        return self._repeats(self._call(claim))

    def _repeats(self, entries: list[_Entry]) -> list[_Delivery]:
        """These entries with the number of their deliveries, without those that the stream has dropped."""
        entries = [entry for entry in entries if entry[1]]
        if not entries:
            return []
        first, last = entries[0][0], entries[-1][0]

        def count(client: "redis.Redis") -> dict[bytes, int]:
            found: Any = client.xpending_range(self._stream, self._group, first, last, 10 * AT_ONCE, self._consumer)
            return {row["message_id"]: int(row["times_delivered"]) for row in found}

        deliveries = self._call(count)
        return [(number, _document(fields, 0, max(2, deliveries.get(number, 2)))) for number, fields in entries]

    def _new(self, wait: float) -> list[_Delivery]:
        def read(client: "redis.Redis") -> Any:
            return client.eval(_READ, 2, self._stream, self._hash, self._group, self._consumer, str(AT_ONCE))

        entries, gaps, last = self._call(read)
        if not entries:
            self._call(lambda client: client.xread({self._stream: last}, 1, max(1, int(wait * 1000))))
            return []
        found = []
        for (number, words), gap in zip(entries, gaps, strict=True):
            document = _document(dict(zip(words[::2], words[1::2], strict=True)), gap, 1)
            self._numbers[str(document.epoch)] = document.serial
            found.append((number, document))
        return found

    # --- the server ----------------------------------------------------------------------------------

    def _call(self, function: "Callable[[redis.Redis], T]") -> T:
        """Call it until the server answers."""
        while True:
            try:
                if self._client is None:
                    self._client = self._connect()
                    self._own_first = True  # an answer may have been lost
                return function(self._client)
            except _AWAY:
                self.close()
                self._pause.wait(_PAUSE_SECONDS)
            except redis.ResponseError as error:
                if "NOGROUP" not in str(error):  # emptied, or replaced by a server without it
                    raise
                assert self._client is not None
                self._join(self._client)

    def _join(self, client: "redis.Redis") -> None:
        """Create the group, if there is none. What this consumer knows of the numbers is used again."""
        known: dict[str, int] = dict(self._numbers)
        start = "$" if self._new_only and not known else "0"
        try:
            client.xgroup_create(self._stream, self._group, start, mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
            return
        if start == "0":
            known["all"] = 1
        for name, value in known.items():
            client.hsetnx(self._hash, name, cast(Any, value))

    def _only_crawl(self, client: "redis.Redis") -> str:
        found = sorted(word.decode() for word in cast(set[bytes], client.smembers(CRAWLS)))
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"{self._address} has no documents yet; name the crawl by its id to wait for them")
        raise UsageError(f"{self._address} has documents of several crawls; name one: {', '.join(found)}")

    def _connect(self) -> "redis.Redis":
        """Connect to the server in use. Raises redis.RedisError."""
        address, problem = self._address, redis.ConnectionError("no server is named")
        for server in address.servers:
            try:
                if address.primary is not None:
                    server = _primary(address.primary, server)
                client = _open(address, server)
                role: Any = client.role()
                if role[0] not in (b"master", "master"):
                    client.close()
                    raise redis.ConnectionError(f"{server} is not a primary")
                return client
            except (*_AWAY, redis.ResponseError) as error:
                problem = redis.ConnectionError(str(error))
        raise problem


def _primary(name: str, sentinel: Server) -> Server:
    with redis.Redis(sentinel.host, sentinel.port, socket_connect_timeout=1.0, socket_timeout=1.0) as client:
        found = cast(Any, client.sentinel_get_master_addr_by_name(name))
    if found is None:
        raise redis.ConnectionError(f"Sentinel {sentinel} knows no primary {name!r}")
    host, port = found
    return Server(host.decode() if isinstance(host, bytes) else host, int(port))


def _open(address: CacheAddress, server: Server) -> "redis.Redis":
    return redis.Redis(
        server.host,
        server.port,
        server.database,
        username=address.username,
        password=address.password,
        ssl=server.tls,
        socket_connect_timeout=_CONNECT_SECONDS,
        socket_timeout=_CONNECT_SECONDS + _BLOCK_SECONDS,
        single_connection_client=True,
        retry=Retry(NoBackoff(), 0),  # `_call` does that
    )


def _document(entry: dict[bytes, bytes], gap: int, deliveries: int) -> StreamedDocument:
    fields = {name.decode(): value.decode("utf-8", "replace") for name, value in entry.items()}
    return StreamedDocument(
        url=fields["url"],
        digest=fields["digest"],
        file=fields["file"],
        offset=int(fields["offset"]),
        length=int(fields["length"]),
        status=int(fields["status"]),
        fetched_at=datetime.fromtimestamp(float(fields["at"]), UTC),
        title=fields.get("title"),
        text=fields.get("text"),
        epoch=int(fields["epoch"]),
        serial=int(fields["serial"]),
        commit=int(fields["commit"]),
        index=int(fields["index"]),
        gap=gap,
        deliveries=deliveries,
    )
