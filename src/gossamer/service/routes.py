"""Routes for seeds, limits, hosts, pages and dead letters, and the dependencies of all routes."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
from fastapi import FastAPI, Path, Query, Request, Response

from gossamer.config.overrides import Limits
from gossamer.config.policies import politeness_for
from gossamer.filter.domains import has_known_suffix
from gossamer.filter.scope import parse_domains, read_host
from gossamer.model.outcome import FailureClass
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey
from gossamer.observe.snapshot import LimitProgress
from gossamer.reports.records import DeadFilter, PageFilter
from gossamer.seed.lists import split_seed_string
from gossamer.service.access import LINES
from gossamer.service.control import Control, SeedResult
from gossamer.service.event_stream import EventStream
from gossamer.service.live_view import LiveView
from gossamer.service.metrics import Metrics
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
    body_schema,
    http_error,
    quote,
    read_body,
    type_of,
)


class Dependencies:
    """The objects that the routes use. The application is described without them."""

    crawl: LiveView
    queries: ReadQueries
    metrics: Metrics
    control: Control
    stream: EventStream


AT_ONCE = 2_000
"""Seeds per commit; the crawl runs between two commits."""
_LONGEST_LINE = 65_536
_STRING = msgspec.json.Decoder(str)
_STRINGS = msgspec.json.Decoder(list[str])
_BEGINS_LIST = re.compile(r'\s*\[\s*["\]]').match
"""A JSON list within a string; `[::1]` is a host."""
_MOST_REFUSALS = 1_000
_STREAM_PATIENCE = 60.0
"""Seconds for one batch of a stream: a slow store slows a long stream down instead of ending it."""
_MOST_PATH = 300

After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the previous window")]
Most = Annotated[int, Query(ge=1, le=1_000, alias="limit")]
HostName = Annotated[str, Path(max_length=_MOST_PATH)]
HostQuery = Annotated[str | None, Query(max_length=_MOST_PATH)]
StateWord = Literal["queued", "stored", "duplicate", "redirect", "missing", "gone", "excluded", "dead"]


def add_routes(app: FastAPI, dependencies: Dependencies) -> None:
    _add_seeds(app, dependencies)
    _add_limits(app, dependencies)
    _add_hosts(app, dependencies)
    _add_pages(app, dependencies)
    _add_dead(app, dependencies)


def _json(content: object) -> Response:
    """A response without validation against its model, which would take longer than the query."""
    return Response(msgspec.json.encode(content), media_type="application/json")


# --- seeds -----------------------------------------------------------------------------------------------


def _add_seeds(app: FastAPI, dependencies: Dependencies) -> None:
    @app.post(
        "/seed/urls",
        summary="Add seeds",
        response_model=SeedsAnswer,
        openapi_extra=body_schema(Seeds, LINES),
    )
    async def add(request: Request) -> Any:
        """The response follows the commit and has a result for each URL: `accepted`, `known`, or `refused` with the
        reason. A body of type `application/x-ndjson`, with one URL per line (plain or as a JSON string), may have any
        length; the response then lists only the first refusals."""
        if type_of(request) == LINES:
            return await _add_stream(dependencies.control, request)
        urls = _urls_of(await read_body(request, Seeds))
        answers: list[SeedResult] = []
        for at in range(0, len(urls), AT_ONCE):
            answers += await dependencies.control.add_seeds(urls[at : at + AT_ONCE])
        return _seeds_answer(_count_by_status(answers), answers)


def _urls_of(body: Seeds) -> Sequence[str]:
    given = body.urls
    if isinstance(given, str) and _BEGINS_LIST(given):
        given = _list_in(given)
    for at, text in enumerate([given] if isinstance(given, str) else given):
        if any(character < " " or character == "\x7f" for character in text):
            where = "urls" if isinstance(given, str) else f"urls.{at}"
            raise http_error(422, f"{where}: control characters are not allowed in a URL: {quote(text)}", where)
    urls = split_seed_string(given, has_known_suffix) if isinstance(given, str) else given
    if not urls:
        raise http_error(422, f"urls: no URL in {quote(body.urls)}", "urls")
    if len(urls) > MOST_URLS:
        raise http_error(422, f"urls: {len(urls)} URLs, at most {MOST_URLS} per request; send them as {LINES}", "urls")
    return urls


def _list_in(text: str) -> list[str]:
    try:
        return _STRINGS.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise http_error(422, f"urls: {quote(text)} is not a JSON list of strings: {error}"[:400], "urls") from None


async def _add_stream(control: Control, request: Request) -> dict[str, Any]:
    counts = {"accepted": 0, "known": 0, "refused": 0}
    refusals: list[SeedResult] = []
    async for urls in _batches(_lines(request)):
        answers = await control.add_seeds(urls, _STREAM_PATIENCE)
        for name, n in _count_by_status(answers).items():
            counts[name] += n
        refusals += [answer for answer in answers if answer.status == "refused"]
        del refusals[_MOST_REFUSALS:]
    return _seeds_answer(counts, refusals)


async def _batches(lines: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    batch: list[str] = []
    async for line in lines:
        batch.append(line)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _lines(request: Request) -> AsyncIterator[str]:
    """The lines of a body of any length."""
    rest, number = b"", 1
    async for piece in request.stream():
        *whole, rest = (rest + piece).split(b"\n")
        number += len(whole)
        if len(rest) > _LONGEST_LINE:
            raise http_error(422, f"line {number}: longer than {_LONGEST_LINE} bytes", f"line {number}")
        for line in whole:
            if text := _text_of(line):
                yield text
    if text := _text_of(rest):
        yield text


def _text_of(line: bytes) -> str:
    """The content of a JSON string, or the line as it is. Invalid UTF-8 is kept as surrogates, which no URL has."""
    line = line.strip()
    if line[:1] == b'"':
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _STRING.decode(line)
    return line.decode("utf-8", "surrogateescape")


def _count_by_status(answers: Sequence[SeedResult]) -> dict[str, int]:
    counts = {"accepted": 0, "known": 0, "refused": 0}
    for answer in answers:
        counts[answer.status] += 1
    return counts


def _seeds_answer(counts: dict[str, int], answers: Sequence[SeedResult]) -> dict[str, Any]:
    return {**counts, "results": [{**answer._asdict(), "meaning": answer.meaning} for answer in answers]}


# --- limits ----------------------------------------------------------------------------------------------


def _add_limits(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/url/limit", summary="Current limits on URLs", response_model=LimitsAnswer)
    async def limits() -> Any:
        """`excluded`, `returned`, `unchecked` and `rereading` are those of the last change since the service was
        started."""
        return _limits_answer(await dependencies.queries.limits(), dependencies.control.limit_progress)

    @app.post(
        "/url/limit",
        summary="Set the limits on URLs",
        response_model=LimitsAnswer,
        openapi_extra=body_schema(NewLimits),
    )
    async def change(request: Request) -> Any:
        """Takes effect at once and for queued URLs too: a URL beyond a limit becomes `excluded`, and is requeued when
        the limit is lifted; `rereading` pages are then read again for links that were refused. Limits that are not
        given stay as they are. The response follows the commit; with very many URLs it comes earlier, and `unchecked`
        says how many are left. Persists across restarts."""
        wanted = await read_body(request, NewLimits)
        given = wanted.model_fields_set
        if not given:
            names = ", ".join(NewLimits.model_fields)
            raise http_error(422, f"body: at least one of {names} is required")
        now = await dependencies.queries.limits()
        domains = now.excluded_domains
        if wanted.excludedDomains is not None:
            domains = tuple(sorted(parse_domains(wanted.excludedDomains, "excludedDomains")))
        depth = wanted.depthLimit if "depthLimit" in given else now.depth
        length = wanted.urlLengthLimit if "urlLengthLimit" in given else now.url_bytes
        chosen = Limits(domains, depth, length)
        return _limits_answer(chosen, await dependencies.control.set_limits(chosen))


def _limits_answer(limits: Limits, progress: LimitProgress) -> dict[str, Any]:
    return {
        "excludedDomains": list(limits.excluded_domains),
        "depthLimit": limits.depth,
        "urlLengthLimit": limits.url_bytes,
        "excluded": progress.excluded,
        "returned": progress.requeued,
        "unchecked": progress.unchecked,
        "rereading": progress.rereading,
    }


# --- hosts -----------------------------------------------------------------------------------------------


def _add_hosts(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/hosts", summary="List hosts", response_model=HostsAnswer)
    async def hosts(
        sort: Literal["queued", "fetched", "excluded", "next", "host"] = "queued",
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
        most: Most = 100,
        q: Annotated[str, Query(max_length=_MOST_PATH, description="text that the host name contains")] = "",
    ) -> Any:
        found, total = await dependencies.queries.hosts(sort, offset, most, q.lower())
        return _json({"hosts": found, "total": total, "next": offset + most if offset + most < total else None})

    @app.get("/hosts/{host}", summary="Details of a host", response_model=HostAnswer)
    async def host(host: HostName) -> dict[str, Any]:
        return await _known_host(dependencies, _host(host))

    @app.post(
        "/hosts/{host}",
        summary="Pause, resume, delay or drop a host",
        response_model=SteeredHost,
        openapi_extra=body_schema(HostAction),
    )
    async def steer(host: HostName, request: Request) -> dict[str, Any]:
        """`pause`: the host is not contacted until it is resumed. `drop`: its URLs become excluded when they would be
        visited, and are requeued when the host is resumed. `delay`: sets the minimum delay in seconds after each
        response, not shorter than configured. All changes persist across restarts."""
        wanted = await read_body(request, HostAction)
        if wanted.action == "delay" and "seconds" not in wanted.model_fields_set:
            raise http_error(422, "seconds: missing; use null for the configured delay", "seconds")
        if wanted.action != "delay" and wanted.seconds is not None:
            raise http_error(422, f"seconds: only allowed with delay, not with {wanted.action}", "seconds")
        key = _host(host)
        await _known_host(dependencies, key)
        control, returned = dependencies.control, 0
        match wanted.action:
            case "pause":
                await control.pause_host(key)
            case "resume":
                returned = await control.resume_host(key)
            case "drop":
                await control.drop_host(key)
            case "delay":
                least = politeness_for(dependencies.crawl.config, key).min_delay
                if wanted.seconds is not None and wanted.seconds < least:
                    text = f"seconds: {wanted.seconds:g} is less than the configured minimum of {least:g}"
                    raise http_error(422, text, "seconds")
                await control.delay_host(key, wanted.seconds)
        return {**await _known_host(dependencies, key), "returned": returned}


async def _known_host(dependencies: Dependencies, host: HostKey) -> dict[str, Any]:
    found = await dependencies.queries.host(host)
    if found is None:
        raise http_error(404, f"unknown host {host}", "host")
    return found


def _host(name: str) -> HostKey:
    found = read_host(name)
    if found is None:
        raise http_error(404, f"{quote(name)} is not a valid host name", "host")
    return found


# --- pages -----------------------------------------------------------------------------------------------


def _add_pages(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/pages", summary="List known pages", response_model=PagesAnswer)
    async def pages(
        state: StateWord | None = None,
        host: HostQuery = None,
        q: Annotated[str | None, Query(max_length=2_000, description="text that the URL contains")] = None,
        after: After = 0,
        most: Most = 100,
        parts: Annotated[bool, Query(description="show the parts of each priority, as `priority_parts`")] = False,
    ) -> Any:
        wanted = PageFilter(state=None if state is None else UrlState[state.upper()], host=host)
        found = await dependencies.queries.pages(wanted, after, q or None, most, parts=parts)
        return _json({"pages": found.items, "next": found.next})

    @app.get("/explain", summary="Explain the state of a URL", response_model=dict[str, Any])
    async def explain(url: Annotated[str, Query(min_length=1, max_length=10_000)]) -> Any:
        if not url.strip():
            raise http_error(422, f"url: no URL in {quote(url)}", "url")
        return _json(await dependencies.queries.explain(url.strip()))


# --- dead letters ----------------------------------------------------------------------------------------


def _add_dead(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/dead", summary="List dead letters", response_model=DeadAnswer)
    async def dead(
        host: HostQuery = None,
        reason: Annotated[str | None, Query(max_length=100)] = None,
        failure_class: Annotated[FailureClass | None, Query(alias="class")] = None,
        after: After = 0,
        most: Most = 100,
    ) -> Any:
        wanted = DeadFilter(host=host, reason=reason, failure_class=failure_class)
        found = await dependencies.queries.dead(wanted, after, most)
        return {"dead": found.items, "next": found.next}

    @app.post(
        "/dead", summary="Requeue or drop dead letters", response_model=Done, openapi_extra=body_schema(DeadAction)
    )
    async def handle(request: Request) -> Any:
        """All dead letters, those of a host, of a class or with a reason, or the listed URLs. `requeue`: visit them
        again, with all their retries; `drop`: exclude them permanently."""
        wanted = await read_body(request, DeadAction)
        kind = None if wanted.failure_class is None else FailureClass(wanted.failure_class)
        chosen = DeadFilter(host=wanted.host, reason=wanted.reason, failure_class=kind)
        if wanted.urls is not None and chosen != DeadFilter():
            raise http_error(422, "urls: cannot be combined with host, reason or class", "urls")
        action = dependencies.control.requeue_dead if wanted.action == "requeue" else dependencies.control.drop_dead
        return {"done": await action(chosen, wanted.urls)}
