"""libcurl's multi handle on the event loop (ADR 10). Hot: benchmarks/bench_fetch.py.

Like pycurl's `AsyncCurlMulti`, but with fewer timers; finished transfers are collected in the same turn; and a
connection is checked once more when it becomes idle, which the public interface of pycurl's class does not allow. It
has its own epoll set, of which the event loop watches only the descriptor: a socket can stay in the set while its
connection is idle, and the kernel removes it when libcurl closes it. Registering every socket with the event loop would
cost seven system calls per fetch.

`IdleSockets` finds idle connections that must not be reused because the server sent something, or closed them. libcurl
checks its idle connections at most once a second; what arrives in between would be read as the response to the next
request. So the socket of a kept connection is checked before the next visit to its host. HTTP/2 servers may
legitimately send unsolicited frames; they are not treated differently, since a server can claim to speak HTTP/2, and
the price is a new connection now and then.
"""

import asyncio
import contextlib
import select
from typing import Final

import pycurl

from gossamer.model.units import HostKey

_EVENTS_AT_ONCE: Final = 64
_EPOLL_MASKS: Final = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
_EPOLL_TROUBLE: Final = select.EPOLLERR | select.EPOLLHUP
_CURL_MASKS: Final = {
    select.EPOLLIN: pycurl.CSELECT_IN,
    select.EPOLLOUT: pycurl.CSELECT_OUT,
    select.EPOLLIN | select.EPOLLOUT: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
_EITHER: Final = pycurl.CSELECT_IN | pycurl.CSELECT_OUT
_TIMER_SLACK: Final = 0.001  # libcurl counts in milliseconds and rounds down


class CurlPool:
    """A set of connections and the transfers that use them. Belongs to the event loop it is created in.

    Invariants: a transfer is in `_running` from `start` until its future is done; a socket is in the set while libcurl
    asks for it, and may stay there, for reading, until it is closed or unsolicited data arrives.
    """

    def __init__(self, max_connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_NOTHING)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._running: dict[pycurl.Curl, asyncio.Future[int]] = {}
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_events)
        self._wanted: dict[int, int] = {}  # by socket number: what the set waits for, in libcurl's bits
        self._resting: set[int] = set()  # in the set although libcurl does not ask for it; the number may be stale
        self._due: float | None = None  # when libcurl wants to be called, by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._soon = False
        self._closed = False

    def start(self, curl: pycurl.Curl) -> asyncio.Future[int]:
        """Begin a transfer. The future gives the socket it ended on (-1 if it was closed), or raises pycurl.error."""
        future: asyncio.Future[int] = self._loop.create_future()
        self._running[curl] = future
        self._multi.add_handle(curl)
        return future

    def stop(self, curl: pycurl.Curl) -> None:
        """Abort a transfer with its connection, without completing its future. Does nothing if it has ended."""
        if self._running.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        """Close all connections and cancel the transfers in flight."""
        if self._closed:
            return
        for curl, future in list(self._running.items()):
            self.stop(curl)
            future.cancel()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        self._multi.close()

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        """libcurl asks to watch a socket, or to stop watching it. POLL_IN and POLL_OUT are bits."""
        if self._closed:
            return
        if what == pycurl.POLL_REMOVE or what == pycurl.POLL_NONE:
            if self._wanted.get(fd) == pycurl.POLL_IN:
                self._resting.add(fd)
            else:
                self._leave(fd)
        elif fd in self._resting or self._wanted.get(fd) != what:
            self._resting.discard(fd)
            self._wanted[fd] = what
            mask = _EPOLL_MASKS[what]
            try:
                self._epoll.modify(fd, mask)
            except FileNotFoundError:  # new, or closed and reopened under the same number
                self._epoll.register(fd, mask)

    def _leave(self, fd: int) -> None:
        """Remove a socket from the set, if it is still in it."""
        self._resting.discard(fd)
        if self._wanted.pop(fd, None) is not None:
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)

    def _on_events(self) -> None:
        for fd, events in self._epoll.poll(0, _EVENTS_AT_ONCE):
            if fd in self._resting:
                self._leave(fd)  # unsolicited data or a close; `IdleSockets` will notice
            else:
                self._drive(fd, _CURL_MASKS[events & 5] if not events & _EPOLL_TROUBLE else _EITHER)

    def _on_timer(self, milliseconds: int) -> None:
        """libcurl asks to be called at that time. It must not be called from here."""
        if milliseconds < 0:
            self._due = None
        elif milliseconds == 0:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._wake_soon)
        else:
            self._due = due = self._loop.time() + milliseconds / 1000 + _TIMER_SLACK
            # An armed timer that fires earlier is kept: it checks again and arms the next one. Most requests are
            # cancelled long before they are due.
            if self._timer is None or self._timer_at > due:
                self._arm(due)

    def _arm(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        due = self._due
        if due is None or self._closed:
            return
        if due > self._loop.time() + _TIMER_SLACK:
            self._arm(due)
            return
        self._due = None
        self._drive(pycurl.SOCKET_TIMEOUT, 0)

    def _wake_soon(self) -> None:
        self._soon = False
        if not self._closed:
            self._drive(pycurl.SOCKET_TIMEOUT, 0)

    def _drive(self, fd: int, events: int) -> None:
        """Let libcurl work, then complete what has finished."""
        _, running = self._multi.socket_action(fd, events)
        if running < len(self._running):
            self._collect()

    def _collect(self) -> None:
        left = 1
        while left:
            left, good, bad = self._multi.info_read()
            for curl in good:
                socket = curl.getinfo(pycurl.ACTIVESOCKET)
                future = self._finish(curl)
                if future is not None:
                    future.set_result(socket)
            for curl, code, message in bad:
                future = self._finish(curl)
                if future is not None:
                    future.set_exception(pycurl.error(code, message))

    def _finish(self, curl: pycurl.Curl) -> asyncio.Future[int] | None:
        """Remove the handle; returns its future if it is still awaited."""
        future = self._running.pop(curl, None)
        self._multi.remove_handle(curl)
        return future if future is not None and not future.done() else None


Place = tuple[HostKey, int, str]
"""Host, port and address: what a connection can be used for."""

_CLEANED_AFTER = 1.1  # libcurl checks once a second, before it picks a connection


class IdleSockets:
    """The sockets of idle connections, by place. At most `most` are remembered, the oldest dropped first.

    A number may be stale, since libcurl closes idle connections without notice. Then the connection is gone, and
    refusing to use it changes nothing.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._sockets: dict[Place, int] = {}
        self._spoiled: dict[Place, float] = {}
        self._poll = select.poll()

    def __contains__(self, place: Place) -> bool:
        return place in self._sockets

    def put(self, place: Place, socket: int) -> None:
        """An exchange ended successfully on this socket; -1 if its connection was closed."""
        if socket < 0:
            return
        self._sockets[place] = socket
        if len(self._sockets) > self._most:
            del self._sockets[next(iter(self._sockets))]

    def must_not_be_used(self, place: Place, now: float) -> bool:
        """Whether the connection kept for this place is unusable, judging by what is pending on its socket."""
        socket = self._sockets.pop(place, None)
        if socket is not None and not self._is_quiet(socket):
            # Recorded each time: a host that closes after every response may have several dead connections.
            self._spoiled.pop(place, None)
            self._spoiled[place] = now
            return True
        return bool(self._spoiled) and self._recently_spoiled(place, now)

    def _is_quiet(self, socket: int) -> bool:
        poll = self._poll
        poll.register(socket, select.POLLIN)
        quiet = not poll.poll(0)
        poll.unregister(socket)
        return quiet

    def _recently_spoiled(self, place: Place, now: float) -> bool:
        """Until libcurl has dropped the dead connection, it could be picked instead of a newer one."""
        while self._spoiled:
            oldest = next(iter(self._spoiled))
            if now - self._spoiled[oldest] < _CLEANED_AFTER:
                break
            del self._spoiled[oldest]
        return place in self._spoiled
