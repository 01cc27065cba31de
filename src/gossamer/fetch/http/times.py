"""How long the parts of exchanges take: connecting, TLS, the first byte, the body."""

from gossamer.sketch.durations import Durations


class ExchangeTimes:
    """Of all exchanges by libcurl that ended with an answer. Moments are microseconds since an exchange began."""

    __slots__ = ("body", "connect", "first_byte", "tls")

    def __init__(self) -> None:
        self.connect = Durations()  # of new connections only
        self.tls = Durations()  # of new ones with TLS
        self.first_byte = Durations()  # from the request to the first byte of the answer
        self.body = Durations()  # from the first byte to the last

    def connected(self, connected: int, secured: int) -> None:
        """A connection was made for it; `secured` is 0 where there is no TLS."""
        self.connect.note(connected)
        if secured:
            self.tls.note(secured - connected)

    def answered(self, asked: int, first: int, last: int) -> None:
        took, counts = first - asked, self.first_byte.counts  # once a page: two calls of `note` would cost more
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took
        took, counts = last - first, self.body.counts
        counts[(took - 1).bit_length()] += 1
        counts[-1] += took
