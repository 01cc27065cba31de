"""The routes that let URLs in, hold them to limits, and ask about hosts, pages and dead letters.

What the routes are made over.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Protocol

import msgspec
from fastapi import FastAPI, Path, Query, Request, Response

from gossamer.config.load import Config
from gossamer.filter.scope import parse_domains, read_host
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey
from gossamer.observe.snapshot import Snapshot
from gossamer.reports.records import DeadFilter, PageFilter, dead_object, page_object
from gossamer.seed.lists import split_seed_string
from gossamer.service.access import LINES
from gossamer.service.control import Answered, Control
from gossamer.service.event_stream import EventStream
from gossamer.service.metrics import Metrics
from gossamer.service.overrides import Limits, Overrides, limits_of
from gossamer.service.queries import ReadQueries
from gossamer.service.schemas import (
    MOST_URLS,
    DeadAction,
    DeadAnswer,
    Done,
    HostAction,
    HostAnswer,
    HostsAnswer,
    LimitsAnswer,
    NewLimits,
    PagesAnswer,
    Seeds,
    SeedsAnswer,
    SteeredHost,
    described,
    problem,
    read_body,
    shown,
    type_of,
)


class CrawlShown(Protocol):
    """A crawl as those see it who only read: in front as it was shown last, beside the crawl as it is."""

    @property
    def config(self) -> Config:
        """The configuration as it holds now, with what was ordered."""
        ...

    @property
    def orders(self) -> Overrides: ...

    @property
    def latest(self) -> Snapshot | None:
        """The last picture; None before the first."""
        ...

    @property
    def stopping(self) -> bool: ...

    @property
    def paused(self) -> bool: ...


class Dependencies:
    """What the routes need. The application is made once, before there are two processes, and each fills in its own
    parts: beside the crawl all of them, in front those of the routes that only read. A part that is not there is never
    asked for: `across` sees to that."""

    crawl: CrawlShown
    questions: ReadQueries
    metrics: Metrics
    # beside the crawl alone
    operator: Control
    feed: EventStream
    stop: Callable[[], None]


AT_ONCE = 2_000
"""Seeds of one commit; between two the crawl has its turn."""
_LONGEST_LINE = 65_536
_STRING = msgspec.json.Decoder(str)
_REFUSALS_TOLD = 1_000
_STREAM_PATIENCE = 60.0
"""Seconds for one lot of a stream. Who sends a million is slowed by a slow store, not turned away half-way."""
_MOST_PATH = 300

After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the window before")]
Most = Annotated[int, Query(ge=1, le=1_000, alias="limit")]
HostName = Annotated[str, Path(max_length=_MOST_PATH)]
HostQuery = Annotated[str | None, Query(max_length=_MOST_PATH)]
StateWord = Literal["queued", "stored", "duplicate", "redirect", "missing", "gone", "excluded", "dead"]


def add_routes(app: FastAPI, parts: Dependencies) -> None:
    _add_seeds(app, parts)
    _add_limits(app, parts)
    _add_hosts(app, parts)
    _add_pages(app, parts)
    _add_dead(app, parts)


def _told(content: object) -> Response:
    """An answer as it is: what comes from the database is not checked once more, which takes longer than to read it."""
    return Response(msgspec.json.encode(content), media_type="application/json")


# --- seeds -----------------------------------------------------------------------------------------------


def _add_seeds(app: FastAPI, parts: Dependencies) -> None:
    @app.post(
        "/seed/urls",
        summary="Let URLs in as seeds",
        response_model=SeedsAnswer,
        openapi_extra=described(Seeds, LINES),
    )
    async def add(request: Request) -> Any:
        """Answers, when it is on record, what became of each: `accepted`, `known`, or `refused` with the reason. As
        `application/x-ndjson`, a URL a line (as it is, or a JSON string), the body may be as long as it likes; then
        only the first refusals are told."""
        if type_of(request) == LINES:
            return await _streamed(parts.operator, request)
        urls = _urls_of(await read_body(request, Seeds))
        answers: list[Answered] = []
        for at in range(0, len(urls), AT_ONCE):
            answers += await parts.operator.add_seeds(urls[at : at + AT_ONCE])
        return _seeds_answer(_counted(answers), answers)


def _urls_of(body: Seeds) -> Sequence[str]:
    given = [body.urls] if isinstance(body.urls, str) else body.urls
    for at, text in enumerate(given):
        if any(character < " " or character == "\x7f" for character in text):
            where = "urls" if isinstance(body.urls, str) else f"urls.{at}"
            raise problem(422, f"{where}: a URL has no control characters, as {shown(text)} has", where)
    urls = split_seed_string(body.urls) if isinstance(body.urls, str) else body.urls
    if not urls:
        raise problem(422, f"urls: there is no URL in {shown(body.urls)}", "urls")
    if len(urls) > MOST_URLS:
        raise problem(422, f"urls: at most {MOST_URLS} at a time, not {len(urls)}; send them as {LINES}", "urls")
    return urls


async def _streamed(operator: Control, request: Request) -> dict[str, Any]:
    counts = {"accepted": 0, "known": 0, "refused": 0}
    refusals: list[Answered] = []
    async for urls in _lots(_lines(request)):
        answers = await operator.add_seeds(urls, _STREAM_PATIENCE)
        for name, n in _counted(answers).items():
            counts[name] += n
        refusals += [answer for answer in answers if answer.status == "refused"]
        del refusals[_REFUSALS_TOLD:]
    return _seeds_answer(counts, refusals)


async def _lots(lines: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    lot: list[str] = []
    async for line in lines:
        lot.append(line)
        if len(lot) == AT_ONCE:
            yield lot
            lot = []
    if lot:
        yield lot


async def _lines(request: Request) -> AsyncIterator[str]:
    """The lines of a body, one by one, whatever its length."""
    rest, number = b"", 1
    async for piece in request.stream():
        *whole, rest = (rest + piece).split(b"\n")
        number += len(whole)
        if len(rest) > _LONGEST_LINE:
            raise problem(422, f"line {number}: may have at most {_LONGEST_LINE} bytes", f"line {number}")
        for line in whole:
            if text := _text_of(line):
                yield text
    if text := _text_of(rest):
        yield text


def _text_of(line: bytes) -> str:
    """What a line says: a JSON string, or the text as it is. Bytes that are no UTF-8 stay in it as what no URL has."""
    line = line.strip()
    if line[:1] == b'"':
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _STRING.decode(line)
    return line.decode("utf-8", "surrogateescape")


def _counted(answers: Sequence[Answered]) -> dict[str, int]:
    counts = {"accepted": 0, "known": 0, "refused": 0}
    for answer in answers:
        counts[answer.status] += 1
    return counts


def _seeds_answer(counts: dict[str, int], answers: Sequence[Answered]) -> dict[str, Any]:
    return {**counts, "results": [{**answer._asdict(), "meaning": answer.meaning} for answer in answers]}


# --- limits ----------------------------------------------------------------------------------------------


def _add_limits(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/url/limit", summary="The limits that URLs are held to", response_model=LimitsAnswer)
    async def limits() -> Any:
        return _limits_answer(limits_of(parts.operator.config), 0)

    @app.post(
        "/url/limit",
        summary="Hold URLs to other limits",
        response_model=LimitsAnswer,
        openapi_extra=described(NewLimits),
    )
    async def change(request: Request) -> Any:
        """At once, and for queued URLs too: those that a limit forbids become `excluded` when their turn comes, and
        come back when it is lifted. Kept over restarts."""
        wanted = await read_body(request, NewLimits)
        operator = parts.operator
        domains = limits_of(operator.config).excluded_domains
        if wanted.excludedDomains is not None:
            domains = tuple(sorted(parse_domains(wanted.excludedDomains, "excludedDomains")))
        chosen = Limits(domains, wanted.depthLimit, wanted.urlLengthLimit)
        return _limits_answer(chosen, await operator.set_limits(chosen))


def _limits_answer(limits: Limits, returned: int) -> dict[str, Any]:
    return {
        "excludedDomains": list(limits.excluded_domains),
        "depthLimit": limits.depth,
        "urlLengthLimit": limits.url_bytes,
        "returned": returned,
    }


# --- hosts -----------------------------------------------------------------------------------------------


def _add_hosts(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/hosts", summary="Hosts, a page at a time", response_model=HostsAnswer)
    async def hosts(
        sort: Literal["queued", "fetched", "excluded", "next", "host"] = "queued",
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        most: Most = 100,
        q: Annotated[str, Query(max_length=_MOST_PATH, description="part of the name")] = "",
    ) -> Any:
        crawl = parts.crawl
        found, total = await parts.questions.hosts(crawl.config, sort, offset, most, q.lower())
        for each in found:
            each.update(_ordered_for(crawl.orders, HostKey(str(each["host"]))))
        return _told({"hosts": found, "total": total, "next": offset + most if offset + most < total else None})

    @app.get("/hosts/{host}", summary="Everything known of a host", response_model=HostAnswer)
    async def host(host: HostName) -> dict[str, Any]:
        return await _known_host(parts, _host(host))

    @app.post(
        "/hosts/{host}",
        summary="Pause, resume, delay or drop a host",
        response_model=SteeredHost,
        openapi_extra=described(HostAction),
    )
    async def steer(host: HostName, request: Request) -> dict[str, Any]:
        """`pause`: it is not contacted until it is resumed. `drop`: its URLs become excluded when their turn comes;
        they come back when it is resumed. `delay`: at least so many seconds after each answer, never less than the
        configuration says. All of it outlasts a restart of the service."""
        wanted = await read_body(request, HostAction)
        if wanted.action == "delay" and "seconds" not in wanted.model_fields_set:
            raise problem(422, "seconds: is missing; null for what the configuration says", "seconds")
        if wanted.action != "delay" and wanted.seconds is not None:
            raise problem(422, f"seconds: goes with delay, not with {wanted.action}", "seconds")
        key = _host(host)
        await _known_host(parts, key)
        operator, returned = parts.operator, 0
        match wanted.action:
            case "pause":
                await operator.pause_host(key)
            case "resume":
                returned = await operator.resume_host(key)
            case "drop":
                await operator.drop_host(key)
            case "delay":
                least = operator.least_delay(key)
                if wanted.seconds is not None and wanted.seconds < least:
                    told = f"seconds: the configuration asks for at least {least:g}, not {wanted.seconds:g}"
                    raise problem(422, told, "seconds")
                await operator.delay_host(key, wanted.seconds)
        return {**await _known_host(parts, key), "returned": returned}


async def _known_host(parts: Dependencies, host: HostKey) -> dict[str, Any]:
    found = await parts.questions.host(parts.crawl.config, host)
    if found is None:
        raise problem(404, f"no URL of {host} is known", "host")
    return {**found, **_ordered_for(parts.crawl.orders, host)}


def _ordered_for(orders: Overrides, host: HostKey) -> dict[str, object]:
    delay = orders.delays.get(host)
    return {"paused": host in orders.paused_hosts, "dropped": host in orders.dropped_hosts, "ordered_delay": delay}


def _host(name: str) -> HostKey:
    found = read_host(name)
    if found is None:
        raise problem(404, f"{shown(name)} is no name of a host", "host")
    return found


# --- pages -----------------------------------------------------------------------------------------------


def _add_pages(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/pages", summary="Known pages, a window at a time", response_model=PagesAnswer)
    async def pages(
        state: StateWord | None = None,
        host: HostQuery = None,
        q: Annotated[str | None, Query(max_length=2_000, description="part of the URL")] = None,
        after: After = 0,
        most: Most = 100,
    ) -> Any:
        wanted = PageFilter(state=None if state is None else UrlState[state.upper()], host=host)
        found = await parts.questions.pages(wanted, after, q or None, most)
        return _told({"pages": [page_object(row) for row in found.items], "next": found.next})

    @app.get("/explain", summary="The whole story of a URL", response_model=dict[str, Any])
    async def explain(url: Annotated[str, Query(min_length=1, max_length=10_000)]) -> Any:
        if not url.strip():
            raise problem(422, f"url: there is no URL in {shown(url)}", "url")
        return _told(await parts.questions.explain(parts.crawl.config, url.strip()))


# --- dead letters ----------------------------------------------------------------------------------------


def _add_dead(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/dead", summary="Dead letters, a window at a time", response_model=DeadAnswer)
    async def dead(
        host: HostQuery = None,
        reason: Annotated[str | None, Query(max_length=100)] = None,
        after: After = 0,
        most: Most = 100,
    ) -> Any:
        found = await parts.questions.dead(DeadFilter(host=host, reason=reason), after, most)
        return {"dead": [dead_object(letter) for letter in found.items], "next": found.next}

    @app.post("/dead", summary="Requeue or drop dead letters", response_model=Done, openapi_extra=described(DeadAction))
    async def handle(request: Request) -> Any:
        """All of them, or those of a host or a reason, or those that are named. `requeue`: a new start, no try used up;
        `drop`: excluded for good."""
        wanted = await read_body(request, DeadAction)
        if wanted.urls is not None and (wanted.host is not None or wanted.reason is not None):
            raise problem(422, "urls: are named one by one, so not together with host or reason", "urls")
        chosen = DeadFilter(host=wanted.host, reason=wanted.reason)
        action = parts.operator.requeue_dead if wanted.action == "requeue" else parts.operator.drop_dead
        return {"done": await action(chosen, wanted.urls)}
