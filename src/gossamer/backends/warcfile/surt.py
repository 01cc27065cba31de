"""The sort key of an address in a CDX index: its host back to front, so that what belongs together stands together.

`http://www.example.org:8080/A/?b=2&a=1` is `org,example:8080)/a?a=1&b=2`. The form is that of the Internet Archive's
tools, by which pywb and its kin look up an address: another form would not be found. What they hold to be one page has
one key: upper and lower case, `www.`, a slash at the end, the order of a query and session ids make no difference.
"""

import re
from typing import Final

_WWW: Final = re.compile(r"www\d*\.")
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_ESCAPE: Final = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_PORTS: Final = {"http": "80", "https": "443", "ftp": "21"}
_SESSION_VALUES: Final = {
    "jsessionid": re.compile("[0-9a-z]{32}"),
    "phpsessid": re.compile("[0-9a-z]{32}"),
    "sid": re.compile("[0-9a-z]{32}"),
}
_ASP_NAME: Final = re.compile("aspsessionid[a-z]{8}")
_ASP_SEGMENT: Final = re.compile(r"\(([a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\)")
_ROUNDS: Final = 8  # an address escaped more often than this is none that anybody asks for


def surt(url: str) -> str:
    """The key of an absolute address. Never raises; what has no host is its own key, in lower case."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.lower()
    rest, _, _ = rest.partition("#")
    authority, _, tail = rest.partition("/")
    if "?" in authority:
        authority, _, query = authority.partition("?")
        path, mark = "", "?"
    else:
        path, mark, query = tail.partition("?")
    host, port = _host_and_port(authority.rpartition("@")[2].lower())
    key = ",".join(reversed(_WWW.sub("", host, count=1).split("."))) if not host.startswith("[") else host
    if port and port != _PORTS.get(scheme.lower()):
        key += ":" + port
    return f"{key}){_path('/' + path)}{_query(query) if mark else ''}"


def _host_and_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    if not colon or (authority.startswith("[") and authority.endswith("]")):
        return authority, ""
    return host, port


def _path(path: str) -> str:
    path = _plain(path).lower()
    segments = [s for i, s in enumerate(path.split("/")) if s or i == 0]  # two slashes are one
    if segments[-1].find(".aspx") > 0:
        segments = [s for s in segments if not _ASP_SEGMENT.fullmatch(s)]
    return "/".join(segments) or "/"


def _query(query: str) -> str:
    parameters = sorted(part.split("=", 1) for part in _plain(query).lower().split("&"))
    names = {part[0] for part in parameters}
    cold_fusion = {"cfid", "cftoken"} if {"cfid", "cftoken"} <= names else set()
    kept = [part for part in parameters if part[0] not in cold_fusion and not _is_session(part)]
    text = "&".join("=".join(part) for part in kept)
    return "?" + text if text else ""


def _is_session(parameter: list[str]) -> bool:
    name, value = parameter[0], parameter[1] if len(parameter) > 1 else ""
    expected = _SESSION_VALUES.get(name)
    if expected is not None:
        return expected.fullmatch(value) is not None
    return _ASP_NAME.fullmatch(name) is not None and len(value) == 24 and value.isalpha()


def _plain(text: str) -> str:
    """Escapes taken off, however often they were put on, and put back where an index cannot do without."""
    if text.isascii() and "%" not in text and text.isprintable() and " " not in text:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    for _ in range(_ROUNDS):
        opened = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw)
        if opened == raw:
            break
        raw = opened
    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found[0][0], raw).decode("ascii")
