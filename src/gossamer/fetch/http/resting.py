"""Which connection must not be used again because its server spoke, or hung up, while nothing was asked.

libcurl looks at its idle connections at most once a second. What arrives in between would be read as the answer to the
next request. So the socket of each kept connection is looked at here when its host's turn comes. HTTP/2 may
speak unasked; it is not told apart, since a server can claim to speak it, and the price is a connection now and then.
"""

import select

from gossamer.model.units import HostKey

Place = tuple[HostKey, int, str]
"""Host, port and address: what a connection is good for."""

_CLEANED_AFTER = 1.1  # libcurl's own look is due once a second, before it picks a connection


class RestingSockets:
    """The sockets that connections rest on, by place. At most `most` are remembered, the oldest forgotten first.

    A number may be stale: libcurl closes idle connections without telling. Then the connection is gone, and being
    told not to use it changes nothing.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._sockets: dict[Place, int] = {}
        self._spoiled: dict[Place, float] = {}
        self._poll = select.poll()

    def put(self, place: Place, socket: int) -> None:
        """An exchange ended well on this socket; -1 when its connection was closed."""
        if socket < 0:
            return
        self._sockets[place] = socket
        if len(self._sockets) > self._most:
            del self._sockets[next(iter(self._sockets))]

    def must_not_be_used(self, place: Place, now: float) -> bool:
        """Whether the connection kept for this place is spoiled, by what waits on its socket."""
        socket = self._sockets.pop(place, None)
        if socket is not None and not self._is_quiet(socket):
            # Noted anew each time: of a host that hangs up after every answer, several connections may lie about.
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
        """Until libcurl has thrown it out, the spoiled connection could be picked instead of a newer one."""
        while self._spoiled:
            oldest = next(iter(self._spoiled))
            if now - self._spoiled[oldest] < _CLEANED_AFTER:
                break
            del self._spoiled[oldest]
        return place in self._spoiled
