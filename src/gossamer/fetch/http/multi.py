"""Hot: libcurl's multi handle on the event loop (benchmarks/bench_fetch.py; ADR 6).

pycurl's own `AsyncCurlMulti` does the same. This one arms fewer timers, takes finished transfers in the turn in which
they finish, and looks at a connection once more before it goes to rest, which the public interface of that
one does not allow.
"""

import asyncio
from typing import Final

import pycurl

_TIMER_SLACK: Final = 0.001  # libcurl counts in milliseconds and rounds down


class CurlPool:
    """A set of connections and the transfers that use them. Belongs to the event loop it is made in.

    Invariants: a transfer is in `_running` from `start` until its future is done; a file descriptor is watched
    exactly while libcurl asked for it.
    """

    def __init__(self, max_connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_NOTHING)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._running: dict[pycurl.Curl, asyncio.Future[int]] = {}
        self._watched: dict[int, int] = {}
        self._due: float | None = None  # when libcurl wants to be called, by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._soon = False
        self._closed = False

    def start(self, curl: pycurl.Curl) -> asyncio.Future[int]:
        """Begin a transfer. The future gives the socket it ended on (-1: none is left), or raises pycurl.error."""
        future: asyncio.Future[int] = self._loop.create_future()
        self._running[curl] = future
        self._multi.add_handle(curl)
        return future

    def stop(self, curl: pycurl.Curl) -> None:
        """Take a transfer out, with its connection, and leave its future alone. Does nothing when it has ended."""
        if self._running.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        """Close all connections; cancel the transfers under way."""
        if self._closed:
            return
        for curl, future in list(self._running.items()):
            self.stop(curl)
            future.cancel()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for fd in list(self._watched):
            self._watch(fd, 0)
        self._multi.close()

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        self._watch(fd, 0 if what == pycurl.POLL_REMOVE or self._closed else what)

    def _watch(self, fd: int, wanted: int) -> None:
        # POLL_IN and POLL_OUT are bits; POLL_NONE has neither.
        had = self._watched.get(fd, 0)
        if wanted == had:
            return
        loop = self._loop
        changed = wanted ^ had
        if changed & pycurl.POLL_IN:
            if wanted & pycurl.POLL_IN:
                loop.add_reader(fd, self._drive, fd, pycurl.CSELECT_IN)
            else:
                loop.remove_reader(fd)
        if changed & pycurl.POLL_OUT:
            if wanted & pycurl.POLL_OUT:
                loop.add_writer(fd, self._drive, fd, pycurl.CSELECT_OUT)
            else:
                loop.remove_writer(fd)
        if wanted:
            self._watched[fd] = wanted
        else:
            self._watched.pop(fd, None)

    def _on_timer(self, milliseconds: int) -> None:
        """libcurl wishes to be called then. It may not be called from here."""
        if milliseconds < 0:
            self._due = None
        elif milliseconds == 0:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._wake_soon)
        else:
            self._due = due = self._loop.time() + milliseconds / 1000 + _TIMER_SLACK
            # An armed timer that fires before is left alone: it looks again and arms the next one. Most wishes are
            # taken back long before their time.
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
        """Let libcurl work, then hand on what has finished."""
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
        """Take the handle out; its future, if somebody still waits."""
        future = self._running.pop(curl, None)
        self._multi.remove_handle(curl)
        return future if future is not None and not future.done() else None
