"""Request settings of one host (headers, credentials, trust, protocol, proxy), and how a request is written. Pure.

The crawl looks these options up by host for every request, redirects included, so that nothing meant for one host is
ever sent to another. Secrets appear in no `repr`, no message and no recorded head. Text that would be more than one
header line, or more than one request, is rejected.
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
    """Scheme, Host field and request target. Raises ValueError if the URL is not in canonical form."""
    slash = url.find("/", _AFTER_SCHEME)
    target = url[slash:] if slash > 0 else "/"
    if not _VISIBLE.fullmatch(target):
        raise ValueError(f"not a canonical URL: {url[:200]!r}")
    scheme, default_port = ("https", 443) if url.startswith("https:") else ("http", 80)
    where = host if port == default_port else f"{host}:{port}"
    return scheme, where, target


def header_line(name: str, value: str) -> str:
    """A header field without its line end. Raises ValueError for text that would be more than one line."""
    if not _VISIBLE.fullmatch(name) or ":" in name or not _FIELD_VALUE.fullmatch(value):
        raise ValueError(f"not a header field: {name[:100]!r}: {value[:100]!r}")
    return f"{name}: {value}"


def head_of(where: str, target: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """The head of a request. The fields must be valid."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"GET {target} HTTP/1.1\r\nHost: {where}\r\n{lines}\r\n".encode("latin-1")


_OURS = frozenset(
    (
        *("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive"),
        *("proxy-authorization", "proxy-connection", "accept-encoding", "expect", "range"),
    )
)
"""Fields that control framing, routing or the form of the response; they cannot be overridden."""

_SECRET = re.compile(r"auth|cookie|token|secret|passw|key|session", re.IGNORECASE)
_PROXY = re.compile(r"(?P<scheme>[a-z0-9]+)://(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?(?P<where>[^@/]+)/?")
_WHERE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
_PROXY_SCHEMES = ("http", "https", "socks5h")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. It resolves the names of the hosts behind it."""

    scheme: str
    host: str  # an IPv6 address in brackets
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> "Proxy":
        """Parse `scheme://[user:password@]host:port`. Raises ValueError, whose message does not show the
        credentials."""
        whole = _PROXY.fullmatch(url)
        where = _WHERE.fullmatch(whole["where"]) if whole else None
        if whole is None or where is None or not 0 < int(where["port"]) < 65536:
            raise ValueError("a proxy must be scheme://[user:password@]host:port")
        if whole["scheme"] not in _PROXY_SCHEMES:
            raise ValueError(f"unsupported proxy scheme: {whole['scheme']} (supported: {', '.join(_PROXY_SCHEMES)})")
        user, password = _unescape(whole["user"] or ""), _unescape(whole["password"] or "")
        return cls(whole["scheme"], where["host"], int(where["port"]), user, password)

    @property
    def forwards(self) -> bool:
        """Whether plain HTTP is forwarded request by request, not tunnelled."""
        return self.scheme != "socks5h"


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Request options of one host. Raises ValueError for a field that is not one line or must not be set."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)  # user and password
    bearer: str | None = field(default=None, repr=False)
    verify: bool = True
    http2: bool = True  # over TLS, if the server offers it
    proxy: Proxy | None = None

    def __post_init__(self) -> None:
        if self.basic is not None and self.bearer is not None:
            raise ValueError("a host must not have both basic and bearer credentials")
        if self.basic is not None and ":" in self.basic[0]:
            raise ValueError("a user name for basic credentials must not contain a colon")
        for name, value in self.fields():
            try:
                header_line(name, value)
            except ValueError:
                raise ValueError(f"not a header field: {name[:100]!r}") from None
            if name.lower() in _OURS:
                raise ValueError(f"{name} cannot be set: the crawler controls it")

    def fields(self) -> Iterator[tuple[str, str]]:
        """All header fields of these options, credentials included."""
        yield from self.headers
        if self.basic is not None:
            pair = f"{self.basic[0]}:{self.basic[1]}".encode()
            yield "Authorization", "Basic " + base64.b64encode(pair).decode()
        elif self.bearer is not None:
            yield "Authorization", f"Bearer {self.bearer}"


def redacted(name: str, value: str) -> str:
    """The value of a field as it may be recorded."""
    return "[not recorded]" if _SECRET.search(name) else value


def conditional(etag: str | None, last_modified: str | None) -> tuple[tuple[str, str], ...]:
    """The fields of a conditional request. Validators that are not valid field values are left out."""
    fields = []
    for name, value in (("If-None-Match", etag), ("If-Modified-Since", last_modified)):
        if value:
            try:
                header_line(name, value)
            except ValueError:
                continue
            fields.append((name, value))
    return tuple(fields)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
