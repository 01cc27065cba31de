"""Reads the document stream of a crawl as a consumer of a group.

Redis delivers each entry to one consumer of the group, and keeps it pending until it is acknowledged. What a consumer
has not acknowledged for a while is claimed by another one, so every announced document is processed at least once.

Documents are numbered by the worker that stores them. The last number that a group has received of each epoch is in a
hash next to the stream; it is read and written by the same script that reads entries, so consumers that read at the
same time see each gap once. Entries that the stream has dropped after they were delivered and before they were
acknowledged are added to the next gap. The gap of an entry is in the hash, too, until it is acknowledged: if its
consumer dies, the next one sees the gap again.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.backends.redis.address import PASSWORD, PASSWORD_FILE, CacheAddress, Server, parse_address
from gossamer.backends.redis.connection import STATE_ERRORS
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
    redis.OutOfMemoryError,
    redis.exceptions.MasterDownError,
    OverflowError,  # a Sentinel names an impossible port
    ValueError,  # a host name that is none
)

# KEYS: the stream, and the hash of the group: the last number of each epoch; `all` if it began with the oldest entry;
# `gap ID`, the documents missing before an entry that is not acknowledged; `lost`, those to add to the next gap.
_GAPS: Final = """
local function take(field)
  local value = redis.call('HGET', KEYS[2], field)
  if not value then return 0 end
  redis.call('HDEL', KEYS[2], field)
  return tonumber(value)
end
local function with_lost(id, gap)
  gap = gap + take('lost')
  if gap > 0 then redis.call('HSET', KEYS[2], 'gap ' .. id, gap) end
  return gap
end
"""

# ARGV: group, consumer, how many. Entries begin with `epoch` and `serial`, and the first ones of an epoch go on with
# `after`: the epochs before, and their last numbers. Next is `end` if the entry is no document: then the serial number
# is that of the last one of the epoch.
# Without an entry, the answer is the id of the last one that there is.
_READ: Final = (
    _GAPS
    + """
local all = redis.call('HEXISTS', KEYS[2], 'all') == 1
local function missing(epoch, first, last)
  local known = redis.call('HGET', KEYS[2], epoch)
  known = tonumber(known or (all and 0 or first - 1))
  if not (last < known) then redis.call('HSET', KEYS[2], epoch, last) end
  return math.max(first - known - 1, 0)
end
local documents, gaps = {}, {}
repeat
  local found = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
  if not found then
    local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
    return {{}, {}, last[1] and last[1][1] or '0-0'}
  end
  for _, entry in ipairs(found[1][2]) do
    local id, fields = entry[1], entry[2]
    local epoch, serial, gap, kind = fields[2], tonumber(fields[4]), 0, fields[5]
    if kind == 'after' then
      for before, stored in string.gmatch(fields[6], '(%d+) (%d+)') do
        gap = gap + missing(before, stored + 1, tonumber(stored))
      end
      kind = fields[7]
    end
    if kind == 'end' then
      gap = gap + missing(epoch, serial + 1, serial)
      if gap > 0 then redis.call('HINCRBY', KEYS[2], 'lost', gap) end
      redis.call('XACK', KEYS[1], ARGV[1], id)
    else
      gap = gap + missing(epoch, serial, serial)
      documents[#documents + 1] = entry
      gaps[#documents] = with_lost(id, gap)
    end
  end
until #documents > 0
return {documents, gaps, ''}
"""
)

# ARGV: group, consumer, how many, and after how many milliseconds entries of other consumers are taken; without that,
# entries of this one.
_READ_AGAIN: Final = (
    _GAPS
    + """
local found, dropped
repeat
  found, dropped = {}, {}
  if ARGV[4] then
    local claimed =
      redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[4], '0-0', 'COUNT', ARGV[3])
    found, dropped = claimed[2], claimed[3]
  else
    local read = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '0')
    for _, entry in ipairs(read[1][2]) do
      if entry[2] then found[#found + 1] = entry else dropped[#dropped + 1] = entry[1] end
    end
    if #dropped > 0 then redis.call('XACK', KEYS[1], ARGV[1], unpack(dropped)) end
  end
  for _, id in ipairs(dropped) do redis.call('HINCRBY', KEYS[2], 'lost', 1 + take('gap ' .. id)) end
until #found > 0 or #dropped == 0
local gaps, deliveries = {}, {}
for i, entry in ipairs(found) do
  gaps[i] = with_lost(entry[1], take('gap ' .. entry[1]))
  deliveries[i] = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)[1][4]
end
return {found, gaps, deliveries}
"""
)

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
        self._is_member = False  # of the group, which exists
        try:
            self._client = _connect(self._address)
            self._crawl = crawl or self._only_crawl(self._client)
        except redis.RedisError as error:
            raise _lost(self._address, error) from None
        self._stream = stream_of(self._crawl)
        self._hash = f"{self._stream}:{group}"
        self._call(lambda client: None)

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
            for delivery in found:
                yield delivery[1]
                self._acknowledge(*delivery)

    # --- entries -------------------------------------------------------------------------------------

    def _pending(self) -> list[_Delivery]:
        """What this consumer did not acknowledge in an earlier life, or before the connection was lost."""
        if not self._own_first:
            return []
        found = self._again()
        self._own_first = bool(found)
        return found

    def _claimed(self) -> list[_Delivery]:
        """What other consumers did not acknowledge in time."""
        return self._again(str(self._claim_ms))

    def _again(self, *claim_ms: str) -> list[_Delivery]:
        entries, gaps, deliveries = self._run(_READ_AGAIN, *claim_ms)
        return [
            (number, _document(words, gap, max(2, delivered)))
            for (number, words), gap, delivered in zip(entries, gaps, deliveries, strict=True)
        ]

    def _new(self, wait: float) -> list[_Delivery]:
        entries, gaps, last = self._run(_READ)
        if not entries:
            self._call(lambda client: client.xread({self._stream: last}, 1, max(1, int(wait * 1000))))
            return []
        found = []
        for (number, words), gap in zip(entries, gaps, strict=True):
            document = _document(words, gap, 1)
            self._numbers[str(document.epoch)] = document.serial
            found.append((number, document))
        return found

    def _run(self, script: str, *more: str) -> Any:
        keys, words = (self._stream, self._hash), (self._group, self._consumer, str(AT_ONCE), *more)
        return self._call(lambda client: client.eval(script, len(keys), *keys, *words))

    def _acknowledge(self, number: bytes, document: StreamedDocument) -> None:
        self._call(lambda client: client.xack(self._stream, self._group, number))
        if document.gap:
            self._call(lambda client: client.hdel(self._hash, "gap " + number.decode()))

    # --- the server ----------------------------------------------------------------------------------

    def _call(self, function: "Callable[[redis.Redis], T]") -> T:
        """Call it, as a member of the group, until the server answers. Raises ConnectionLost if it refuses."""
        while True:
            try:
                if self._client is None:
                    self._client = _connect(self._address)
                    self._own_first = True  # an answer may have been lost
                if not self._is_member:
                    self._join(self._client)
                    self._is_member = True
                return function(self._client)
            except _AWAY:
                self._wait()
            except redis.RedisError as error:
                word = str(error).partition(" ")[0]
                if word == "NOGROUP":  # emptied, or replaced by a server without it
                    self._is_member = False
                elif word in STATE_ERRORS:
                    self._wait()
                else:
                    raise _lost(self._address, error) from None

    def _wait(self) -> None:
        self.close()
        self._pause.wait(_PAUSE_SECONDS)

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


def missing_documents(url: str, crawl: str, group: str, stored: Mapping[str, int]) -> int:
    """Documents that a group has not received, and that were no gap of those that it has. `stored` has the number of
    the last document of epochs. A group that began with what was new misses nothing of epochs unknown to it. Raises
    UsageError for a URL or a group that cannot be used, ConnectionLost if the server cannot be reached."""
    address, stream = parse_address(url), stream_of(crawl)
    try:
        with closing(_connect(address)) as client:
            found: Any = client.xinfo_groups(stream) if client.exists(stream) else []
            if group.encode() not in (each["name"] for each in found):
                raise UsageError(f"{address} has no group {group!r} for the documents of {crawl}")
            known = {
                name.decode(): int(value)
                for name, value in cast(Any, client.hgetall(f"{stream}:{group}")).items()
                if not name.startswith(b"gap ")
            }
    except redis.RedisError as error:
        raise _lost(address, error) from None
    all_of_it = "all" in known
    return known.get("lost", 0) + sum(
        max(0, last - known.get(epoch, 0 if all_of_it else last)) for epoch, last in stored.items()
    )


def _lost(address: CacheAddress, error: Exception) -> ConnectionLost:
    problem = str(error)
    if address.password is not None and address.password[:64] in problem:  # a server may repeat what it was sent
        problem = (
            f"the server does not accept the login; its password comes from the URL, {PASSWORD} or {PASSWORD_FILE}"
        )
    return ConnectionLost(f"cannot read the documents of {address}: {problem}")


def _connect(address: CacheAddress) -> "redis.Redis":
    """Connect to the server in use. Raises redis.RedisError."""
    problem = redis.ConnectionError("no server is named")
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
        except (*_AWAY, redis.RedisError) as error:
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


def _document(words: list[bytes], gap: int, deliveries: int) -> StreamedDocument:
    names, values = words[::2], words[1::2]
    fields = {name.decode(): value.decode("utf-8", "replace") for name, value in zip(names, values, strict=True)}
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
