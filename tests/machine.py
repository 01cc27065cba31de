"""A machine of its own for a worker: a network namespace, whose network can be cut.

The namespace has a loopback device and nothing else. Sockets of this process listen in it and pass connections on to
the servers outside, under the same addresses and ports. Once the device is down, nothing that is sent inside arrives,
and nothing is answered: no reset, no end of a connection.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000
_GET_FLAGS, _SET_FLAGS, _IFF_UP = 0x8913, 0x8914, 1  # of a device: netdevice(7)
_libc = ctypes.CDLL(None, use_errno=True)


def why_no_machine() -> str | None:
    """Why a machine cannot be made here; None if it can."""
    try:
        with Machine():
            return None
    except (OSError, AttributeError) as error:
        return f"no network namespace can be created: {error}"


class Machine:
    """A context manager. Connections may be made from inside until `cut`, or until the block is left."""

    def __init__(self) -> None:
        self._namespace = _in_thread(_new_namespace)
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._inside(lambda: _set_loopback(up=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def enter(self) -> None:
        """Move the calling thread into the namespace: for `preexec` of a process that is to run there."""
        _check(_libc.setns(self._namespace, _CLONE_NEWNET))

    def cut(self) -> None:
        """The network is gone, for good: what is sent from now on would arrive too late if it ever came back."""
        self._inside(lambda: _set_loopback(up=False))

    def close(self) -> None:
        """End all connections that were passed on. Processes inside are left alone."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        if self._namespace >= 0:
            os.close(self._namespace)
            self._namespace = -1

    def pass_on(self, port: int, to: Path | None = None) -> None:
        """Connections to any loopback address with this port arrive at the same one outside, or at the socket `to`."""
        listening = self._inside(lambda: socket.create_server(("0.0.0.0", port), backlog=128))
        self._keep(listening)
        threading.Thread(target=self._accept, args=(listening, to), daemon=True).start()

    def pass_on_datagrams(self, port: int) -> None:
        """The same for the questions and answers of a name server, one after the other."""
        inside = self._inside(lambda: _datagram_socket(port))
        self._keep(inside)
        threading.Thread(target=self._answer, args=(inside, port), daemon=True).start()

    def _inside(self, work: Callable[[], T]) -> T:
        def entered() -> T:
            self.enter()
            return work()

        return _in_thread(entered)

    def _keep(self, *opened: socket.socket) -> None:
        with self._lock:
            self._sockets.update(opened)

    def _accept(self, listening: socket.socket, to: Path | None) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_INET if to is None else socket.AF_UNIX)
            try:
                server.connect(client.getsockname() if to is None else str(to))
            except OSError:
                client.close()
                server.close()
                continue
            self._keep(client, server)
            over = threading.Barrier(2, partial(self._drop, client, server))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=(one, other, over), daemon=True).start()

    def _drop(self, *pair: socket.socket) -> None:
        with self._lock:
            self._sockets.difference_update(pair)
        for each in pair:
            each.close()

    def _answer(self, inside: socket.socket, port: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside, suppress(OSError):
            outside.connect(("127.0.0.1", port))
            outside.settimeout(1.0)
            while True:
                question, asker = inside.recvfrom(65536)
                if not question:  # shut down
                    return
                with suppress(OSError):
                    outside.send(question)
                    inside.sendto(outside.recv(65536), asker)


def _copy(one: socket.socket, other: socket.socket, over: threading.Barrier) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
    over.wait()


def _datagram_socket(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", port))
    return made


def _new_namespace() -> int:
    """Of the calling thread. It lasts as long as this descriptor, and as the processes inside."""
    _check(_libc.unshare(_CLONE_NEWNET))
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _set_loopback(*, up: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sh22x", b"lo", 0))
        flags = struct.unpack("16sh22x", found)[1]
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({errno.errorcode.get(number)})")


def _in_thread(work: Callable[[], T]) -> T:
    """A namespace is that of a thread, and a thread that has left ours does not come back."""
    found: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return found[0]
