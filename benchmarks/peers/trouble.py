"""Hosts in trouble, beside those of a simulated web: they fail, hang, redirect in circles, damage their text."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gossamer.lab.simweb.web import SimResponse, SimWeb
from gossamer.model.units import Instant, Seconds

FAILING, SILENT, LOOPS, DAMAGED = "failing.test", "silent.test", "loops.test", "damaged.test"
ADDRESSES = MappingProxyType(
    {FAILING: "127.254.0.1", SILENT: "127.254.0.2", LOOPS: "127.254.0.3", DAMAGED: "127.254.0.4"}
)

_HTML = "text/html; charset=utf-8"
_FOR_EVER = Seconds(3600.0)  # longer than any round
_NOW = Seconds(0.0)


@dataclass(frozen=True, slots=True)
class Damage:
    """A page whose text is not what its server says it is; `text` is what a browser makes of it (WHATWG Encoding)."""

    what: str
    content_type: str
    body: bytes
    text: str


def _page(number: int, text: str, meta: str = "") -> str:
    head = f"<head>{meta}<title>{number}</title></head>"
    return f'<!DOCTYPE html><html>{head}<body><p>{text}</p><a href="/after/{number}">on</a></body></html>'


def _damages() -> tuple[Damage, ...]:
    broken = _page(1, "Gr\u00fc\ufffde aus K\u00f6ln")
    japanese = _page(2, "\u6771\u4eac\u306e\u5929\u6c17", '<meta charset="shift_jis">')
    quotes = _page(3, "\u201cna\u00efve\u201d \u2013 5 \u20ac")
    unknown = _page(4, "\u0442\u0435\u043a\u0441\u0442", '<meta charset="utf-8">')
    wide = _page(5, "caf\u00e9 \u2603")
    return (
        Damage("a byte that is no UTF-8", _HTML, broken.encode().replace("\ufffd".encode(), b"\xdf"), broken),
        Damage("only a meta element says Shift_JIS", "text/html", japanese.encode("shift_jis"), japanese),
        Damage("says ISO-8859-1, is Windows-1252", "text/html; charset=iso-8859-1", quotes.encode("cp1252"), quotes),
        Damage("says a charset that there is not", "text/html; charset=x-klingon", unknown.encode(), unknown),
        Damage("UTF-16 with a byte order mark", "text/html", b"\xff\xfe" + wide.encode("utf-16-le"), wide),
    )


DAMAGES = _damages()


def pages() -> Mapping[str, tuple[bytes, str]]:
    """Every page of `DAMAGED` by its path: its bytes, and the text that they are."""
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(1, len(DAMAGES) + 1))
    found = {"/": _plain(f"<title>damaged</title>{links}")}
    for number, damage in enumerate(DAMAGES, 1):
        found[f"/{number}"] = (damage.body, damage.text)
        found[f"/after/{number}"] = _plain(f"<title>after {number}</title><p>Found behind page {number}.</p>")
    return found


def loop_home() -> tuple[bytes, str]:
    """The one page of `LOOPS` that can be stored."""
    return _plain('<title>loops</title><a href="/a">a</a><a href="/self">self</a><a href="/long/0">long</a>')


def _plain(text: str) -> tuple[bytes, str]:
    whole = f"<!DOCTYPE html>{text}"
    return whole.encode(), whole


class TroubledWeb(SimWeb):
    """A simulated web that also answers for the hosts in trouble. They have no robots.txt."""

    def address_of(self, name: str) -> str | None:
        return ADDRESSES.get(name) or super().address_of(name)

    def respond(
        self, host: str, target: str, time: Instant, headers: Mapping[str, str] = MappingProxyType({})
    ) -> SimResponse:
        if host not in ADDRESSES:
            return super().respond(host, target, time, headers)
        if host == SILENT:
            return _answer(200, b"", delay=_FOR_EVER)
        if target == "/robots.txt":
            return _answer(404, b"none\n")
        if host == FAILING:
            return _answer(500, b"<p>out of order</p>\n")
        if host == LOOPS:
            return _loop(target)
        return _damaged(target)


def _loop(target: str) -> SimResponse:
    if target == "/":
        return _answer(200, loop_home()[0])
    if target.startswith("/long/") and target[6:].isdigit():
        return _answer(302, b"", location=f"/long/{int(target[6:]) + 1}")
    where = {"/a": "/b", "/b": "/a", "/self": "/self"}.get(target)
    return _answer(404, b"") if where is None else _answer(301, b"", location=where)


def _damaged(target: str) -> SimResponse:
    found = pages().get(target)
    if found is None:
        return _answer(404, b"")
    number = target[1:]
    kind = DAMAGES[int(number) - 1].content_type if number.isdigit() else _HTML
    return _answer(200, found[0], kind=kind)


def _answer(
    status: int, body: bytes, *, kind: str = _HTML, location: str | None = None, delay: Seconds = _NOW
) -> SimResponse:
    headers = [("Content-Type", kind)]
    if location is not None:
        headers.append(("Location", location))
    return SimResponse(status, headers, body, delay)
