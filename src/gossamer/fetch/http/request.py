"""How a request is spelt on the wire. Pure; refuses what would be more, or other, than one request."""

import re
from collections.abc import Iterable

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
