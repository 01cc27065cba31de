"""What an FTP server says: replies of one or many lines, the port for data, and what a refusal means. Pure."""

import re
from dataclasses import dataclass
from typing import Final

_CODE: Final = re.compile(rb"([1-5][0-9]{2})([ -]|\Z)").match
_EXTENDED_PORT: Final = re.compile(rb"\((.)\1\1([0-9]{1,5})\1\)", re.DOTALL).search
# Some servers leave out the parentheses.
_PASSIVE_PORT: Final = re.compile(rb"[0-9]{1,3}(?:,[0-9]{1,3}){3},([0-9]{1,3}),([0-9]{1,3})").search
_LOWEST_PORT: Final = 1024  # below are services, none of which is a data connection


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply: its code, and its last line without the line's end."""

    code: int
    text: bytes

    @property
    def preliminary(self) -> bool:
        return self.code < 200

    @property
    def good(self) -> bool:
        return 200 <= self.code < 300

    @property
    def shown(self) -> str:
        """For people: one line, at most 100 characters, control characters escaped."""
        return ascii(self.text[:100].decode("latin-1"))[1:-1]


class BadReply(Exception):
    """Bytes that are no reply. Never leaves this package."""


class ReplyReader:
    """Puts lines together to replies. `feed` gives a reply when its last line has come.

    A reply of many lines begins with `123-` and ends with the line that begins with `123 ` (RFC 959, 4.2).
    """

    def __init__(self) -> None:
        self._code: bytes | None = None

    def feed(self, line: bytes) -> Reply | None:
        """Raises BadReply where a reply must begin and does not."""
        line = line.rstrip(b"\r\n")
        found = _CODE(line)
        if self._code is None:
            if found is None:
                raise BadReply(ascii(line[:60])[1:])
            if found[2] == b"-":
                self._code = found[1]
                return None
        elif found is None or found[1] != self._code or found[2] == b"-":
            return None
        self._code = None
        return Reply(int(found[1]), line)


def extended_port(reply: Reply) -> int | None:
    """The port in the answer to EPSV; None if there is none that may be dialled."""
    found = _EXTENDED_PORT(reply.text)
    return _checked(int(found[2])) if found else None


def passive_port(reply: Reply) -> int | None:
    """The port in the answer to PASV. The address beside it is not read: whom we dial is not the server's choice."""
    found = _PASSIVE_PORT(reply.text)
    if found is None:
        return None
    high, low = int(found[1]), int(found[2])
    return _checked(256 * high + low) if high < 256 and low < 256 else None


def _checked(port: int) -> int | None:
    return port if _LOWEST_PORT <= port < 65536 else None


def status_of_refusal(reply: Reply) -> int:
    """The HTTP status that asks of us what this refusal asks.

    4xx in FTP means "not now". 530 and its kin refuse the login; 550 and its kin refuse the file.
    """
    if reply.code < 500:
        return 503
    if reply.code in (530, 532, 534):
        return 403
    return 404 if 550 <= reply.code < 560 else 501
