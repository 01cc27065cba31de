"""How a request is spelt on the wire. Pure; refuses what would be more, or other, than one request.

What the operator wishes for one host: headers, credentials, trust, protocol, proxy. Pure; shows no secret.

The crawl looks these up by host for every request, redirects included, so nothing that was meant for one host is ever
sent to another. Secrets stand in no `repr`, no message and no recorded head.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gossamer.model.units import HostKey, Url

_VISIBLE = re.compile(r"[!-~]+")
_FIELD_VALUE = re.compile(r"[ -~\t\x80-\xff]+")
_AFTER_SCHEME = len("https://")


def wire_parts(url: Url, host: HostKey, port: int) -> tuple[str, str, str]:
    """Scheme, Host field and request target. Raises ValueError when the URL is not in canonical form."""
    slash = url.find("/", _AFTER_SCHEME)
    target = url[slash:] if slash > 0 else "/"
    if not _VISIBLE.fullmatch(target):
        raise ValueError(f"not a canonical URL: {url[:200]!r}")
    scheme, default_port = ("https", 443) if url.startswith("https:") else ("http", 80)
    where = host if port == default_port else f"{host}:{port}"
    return scheme, where, target


def header_line(name: str, value: str) -> str:
    """A header field without its line end. Raises ValueError for what would become more than one line."""
    if not _VISIBLE.fullmatch(name) or ":" in name or not _FIELD_VALUE.fullmatch(value):
        raise ValueError(f"not a header field: {name[:100]!r}: {value[:100]!r}")
    return f"{name}: {value}"


def head_of(where: str, target: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """A request's head. The fields must be known to be fields."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"GET {target} HTTP/1.1\r\nHost: {where}\r\n{lines}\r\n".encode("latin-1")


_OURS = frozenset(
    (
        *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive"),
        *("proxy-authorization", "proxy-connection", "accept-encoding", "expect", "range"),
    )
)
"""Fields that decide about framing, routing or the form of the answer: not to be overridden."""

_SECRET = re.compile(r"auth|cookie|token|secret|passw|key|session", re.IGNORECASE)
_PROXY = re.compile(r"(?P<scheme>[a-z0-9]+)://(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?(?P<where>[^@/]+)/?")
_WHERE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
_PROXY_SCHEMES = ("http", "https", "socks5h")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where requests go instead of to their host. Names are then looked up by the proxy."""

    scheme: str
    host: str  # an IPv6 address in brackets
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> "Proxy":
        """From `scheme://[user:password@]host:port`. Raises ValueError, without showing the credentials."""
        whole = _PROXY.fullmatch(url)
        where = _WHERE.fullmatch(whole["where"]) if whole else None
        if whole is None or where is None or not 0 < int(where["port"]) < 65536:
            raise ValueError("a proxy is scheme://[user:password@]host:port")
        if whole["scheme"] not in _PROXY_SCHEMES:
            raise ValueError(f"no such kind of proxy: {whole['scheme']} (there are {', '.join(_PROXY_SCHEMES)})")
        user, password = _unescaped(whole["user"] or ""), _unescaped(whole["password"] or "")
        return cls(whole["scheme"], where["host"], int(where["port"]), user, password)

    @property
    def forwards(self) -> bool:
        """Whether plain HTTP is handed on request by request, not tunnelled."""
        return self.scheme != "socks5h"


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How one host is asked. Raises ValueError for fields that would not be one line, or are not to be set."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)  # user and password
    bearer: str | None = field(default=None, repr=False)
    verify: bool = True
    http2: bool = True  # over TLS, if the server offers it
    proxy: Proxy | None = None

    def __post_init__(self) -> None:
        if self.basic is not None and self.bearer is not None:
            raise ValueError("a host has either basic or bearer credentials")
        if self.basic is not None and ":" in self.basic[0]:
            raise ValueError("a user name for basic credentials has no colon")
        for name, value in self.fields():
            try:
                header_line(name, value)
            except ValueError:
                raise ValueError(f"not a header field: {name[:100]!r}") from None
            if name.lower() in _OURS:
                raise ValueError(f"{name} is not to be set: the crawler decides about it")

    def fields(self) -> Iterator[tuple[str, str]]:
        """All header fields that this asks for, credentials included."""
        yield from self.headers
        if self.basic is not None:
            pair = f"{self.basic[0]}:{self.basic[1]}".encode()
            yield "Authorization", "Basic " + base64.b64encode(pair).decode()
        elif self.bearer is not None:
            yield "Authorization", f"Bearer {self.bearer}"


def redacted(name: str, value: str) -> str:
    """A field's value as it may be recorded."""
    return "[not recorded]" if _SECRET.search(name) else value


def conditional(etag: str | None, last_modified: str | None) -> tuple[tuple[str, str], ...]:
    """The fields that ask for a page only if it has changed. Validators that would not make a field are left out."""
    fields = []
    for name, value in (("If-None-Match", etag), ("If-Modified-Since", last_modified)):
        if value:
            try:
                header_line(name, value)
            except ValueError:
                continue
            fields.append((name, value))
    return tuple(fields)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
