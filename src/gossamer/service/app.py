"""The dashboard at /: one page, its script and its style, from files beside this module; nothing from elsewhere.

The application: routes, and how errors are told. Made before anything is opened; starts nothing itself.
"""

from collections.abc import AsyncIterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.routing import Match

from gossamer.crawl.events import Outcome
from gossamer.errors import ConfigError, StoreFailed
from gossamer.observe.formatting import timestamp
from gossamer.observe.snapshot import Snapshot, StateOfCrawl, crawl_state, to_contract
from gossamer.service.access import TooLarge
from gossamer.service.control import Unavailable
from gossamer.service.metrics import CONTENT_TYPE, prefers_json
from gossamer.service.routes import CrawlShown, Dependencies, add_routes
from gossamer.service.schemas import (
    CrawlAction,
    CrawlAnswer,
    Health,
    Problem,
    StatusAnswer,
    StrictRoute,
    described,
    first_of,
    problem,
    read_body,
    shown,
)
from gossamer.version import __version__

FOLDER = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MODULES = (
    "main", "api", "charts", "dead", "dom", "engine", "explain", "forms", "health", "host", "hosts", "metrics", "pages",
    "stream", "text", "theme",
)  # fmt: skip
NAMES = ("icon.svg", "style.css", *(f"{module}.js" for module in MODULES))
FILES = {"/": "index.html", **{f"/page/{name}": name for name in NAMES}}
"""Path -> file. No path of a caller ever names a file."""


@cache
def file_at(path: str) -> tuple[bytes, str]:
    """The file that a path means, and its type."""
    found = FOLDER / FILES[path]
    return found.read_bytes(), f"{KINDS[found.suffix]}; charset=utf-8"


def add_dashboard(app: FastAPI) -> None:
    """A route for each file."""
    for path in FILES:
        _add_file(app, path)


def _add_file(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def file() -> Response:
        body, kind = file_at(path)
        return Response(body, headers={"Content-Type": kind})


_ENCODE = msgspec.json.encode

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "not understood"},
    401: {"model": Problem, "description": "a token is needed"},
    403: {"model": Problem, "description": "called under a strange name, or from another site"},
    404: {"model": Problem, "description": "not known"},
    405: {"model": Problem, "description": "not in this way; `Allow` says how"},
    413: {"model": Problem, "description": "the body is too large"},
    415: {"model": Problem, "description": "the body is not JSON"},
    422: {"model": Problem, "description": "a value that cannot be; `field` names it"},
    429: {"model": Problem, "description": "too many requests"},
    503: {"model": Problem, "description": "the store cannot be written or read now; try again"},
}


class Json(JSONResponse):
    """JSON by the encoder that the project uses. Values are plain already."""

    def render(self, content: object) -> bytes:
        return _ENCODE(content)


def make_app(parts: Dependencies) -> FastAPI:
    """The application, without its gate."""
    app = bare_app()
    add_routes(app, parts)
    _add_watching(app, parts)
    _add_health(app, parts)
    add_dashboard(app)
    return app


def description() -> dict[str, Any]:
    """What OpenAPI says of the service: docs/openapi.json."""
    return make_app(Dependencies()).openapi()  # routes are described without being called


class Described(FastAPI):
    """Says which calls need the token."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            found = super().openapi()
            found.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path in found["paths"].values():
                if "post" in path:
                    path["post"]["security"] = [{"token": []}]
                if "get" in path:
                    path["get"]["security"] = [{}, {"token": []}]  # needed unless it listens on loopback
        assert self.openapi_schema is not None
        return self.openapi_schema


def bare_app() -> FastAPI:
    app = Described(
        title="Gossamer",
        version=__version__,
        summary="A running crawl: seeds in, limits, figures, hosts, pages, dead letters",
        docs_url=None,
        redoc_url=None,
        responses=ERRORS,
        default_response_class=Json,
        redirect_slashes=False,
    )
    app.router.route_class = StrictRoute
    app.add_exception_handler(RequestValidationError, _wrong_parameter)
    app.add_exception_handler(AnyHTTPException, _http_error)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(StoreFailed, _unavailable)
    app.add_exception_handler(ConfigError, _wrong_value)
    app.add_exception_handler(TooLarge, _too_large)
    return app


# --- errors ----------------------------------------------------------------------------------------------


async def _wrong_parameter(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    said, field = first_of(error.errors(), skip=1)
    return Json({"error": said, "field": field}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    detail: object = error.detail
    said = detail if isinstance(detail, dict) else {"error": str(detail).lower(), "field": None}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ways = ", ".join(_ways_to_ask(request))
        said = {"error": f"{request.method} is not for {shown(request.url.path)}, only {ways}", "field": None}
    elif error.status_code == 404 and not isinstance(detail, dict):
        said = {"error": f"there is no {shown(request.url.path)}", "field": None}
    return Json(said, error.status_code, headers)


def _ways_to_ask(request: Request) -> list[str]:
    """The methods of a path. Each route knows only its own."""
    routes: list[Any] = request.app.router.routes
    fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    ways = {method for route in fitting for method in route.methods}
    return sorted(ways | {"HEAD"} if "GET" in ways else ways)  # the gate answers HEAD, from what GET is told


async def _unavailable(_: Request, error: Exception) -> Response:
    said = str(error) if isinstance(error, Unavailable) else "the store is not available"
    return Json({"error": said, "field": None}, 503, {"Retry-After": "1"})


async def _wrong_value(_: Request, error: Exception) -> Response:
    assert isinstance(error, ConfigError)
    return Json({"error": str(error)[:200], "field": error.key}, 422)


async def _too_large(_: Request, error: Exception) -> Response:
    return Json({"error": "the body is too large", "field": None}, 413, {"Connection": "close"})


# --- watching --------------------------------------------------------------------------------------------


def picture(snapshot: Snapshot, state: str) -> dict[str, object]:
    """What `/status` and `/events` tell: the figures of `gossamer crawl --json`, and those of the moment."""
    return {
        **to_contract(snapshot),
        "at": timestamp(snapshot.at),
        "state": state,
        "in_flight": snapshot.in_flight,
        "hosts_in_memory": snapshot.hosts_in_memory,
        "hosts_ready": snapshot.hosts_ready,
        "hosts_waiting": snapshot.hosts_waiting,
        "urls_by_front": list(snapshot.urls_by_front),
        "documents_waiting": snapshot.documents_waiting,
        "store_saturation": round(snapshot.store_saturation, 4),
        "waiting_for": snapshot.waiting_for,
        "load_reason": snapshot.load_reason,
        "loop_lag": round(snapshot.loop_lag, 4),
        "front": None if snapshot.front is None else asdict(snapshot.front),
        "slowest": [[host, round(took, 3)] for host, took in snapshot.slowest[:10]],
    }


def state_of(crawl: CrawlShown, latest: Snapshot | None) -> StateOfCrawl:
    return state_word(latest, stopping=crawl.stopping, paused=crawl.paused)


def state_word(latest: Snapshot | None, *, stopping: bool, paused: bool) -> StateOfCrawl:
    """What the crawl does, by its last snapshot, in a word; before the first one it runs."""
    return crawl_state(
        stopping=stopping,
        paused=paused,
        store_failing=latest is not None and latest.store_failing,
        store_slow=latest is not None and latest.store_slow,
        busy=latest is None or latest.queued > 0 or latest.in_flight > 0,
    )


def _add_watching(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/status", summary="The totals of the crawl, and what it does at the moment", response_model=StatusAnswer)
    async def status() -> Response:
        latest = parts.crawl.latest
        if latest is None:
            raise problem(503, "the crawl has only begun", retry=True)
        return Json(picture(latest, state_of(parts.crawl, latest)))

    @app.get(
        "/metrics",
        summary="Figures for Prometheus; as JSON on request",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}, "application/json": {}}}},
    )
    async def metrics(request: Request) -> Response:
        if prefers_json(request.headers.get("accept", "")):
            return Json(parts.metrics.plain())
        return Response(parts.metrics.text(), media_type=CONTENT_TYPE)

    @app.get(
        "/events",
        summary="Figures every second and what became of visits, as server-sent events",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(
        last: Annotated[str | None, Header(alias="Last-Event-ID", description="the last `id` that was told")] = None,
    ) -> Response:
        """Whoever comes back with the last `id` is told what became of visits since, as far as it is kept."""
        if parts.feed.is_crowded:
            raise problem(503, "too many watch already", retry=True)
        return StreamingResponse(_events(parts, last), media_type="text/event-stream")

    @app.get("/crawl", summary="Whether it runs", response_model=CrawlAnswer)
    async def crawl() -> Response:
        return Json({"state": state_of(parts.crawl, parts.feed.latest)})

    @app.post(
        "/crawl", summary="Pause, resume or stop it", response_model=CrawlAnswer, openapi_extra=described(CrawlAction)
    )
    async def steer(request: Request) -> Response:
        """`pause` starts no more visits, `resume` starts them again; both outlast a restart. `stop` finishes what is in
        flight and ends the service."""
        wanted = await read_body(request, CrawlAction)
        if wanted.action == "stop":
            parts.stop()
            return Json({"state": "stopping"})
        await parts.operator.pause(wanted.action == "pause")
        return Json({"state": state_of(parts.crawl, parts.feed.latest)})


async def _events(parts: Dependencies, last: str | None) -> AsyncIterator[bytes]:
    place = parts.feed.place(last)
    yield b"retry: 2000\n\n"
    yield _event("history", parts.feed.history(), place)
    async for snapshot, outcomes, there in parts.feed.pictures(last=place):
        yield _event("status", picture(snapshot, state_of(parts.crawl, snapshot)))
        yield _event("moment", parts.feed.moment(snapshot))
        if outcomes:
            yield _event("visits", [_told(outcome) for outcome in outcomes], there)
    yield _event("end", {})


def _event(name: str, data: object, place: str | None = None) -> bytes:
    """With a place, whoever has read it goes on from there when he comes back."""
    where = b"" if place is None else b"id: " + place.encode("ascii") + b"\n"
    return where + b"event: " + name.encode("ascii") + b"\ndata: " + _ENCODE(data) + b"\n\n"


def _told(outcome: Outcome) -> dict[str, object]:
    return {
        "url": outcome.url,
        "state": outcome.state.word,
        "at": timestamp(outcome.at),
        "depth": outcome.depth,
        "status": outcome.status,
        "reason": outcome.reason,
        "title": outcome.title,
    }


def _add_health(app: FastAPI, parts: Dependencies) -> None:
    @app.get("/healthz", summary="Whether the process is alive", response_model=Health)
    async def alive() -> Response:
        return Json({"status": "ok"})

    not_ready = {"model": Health, "description": "not now; try again"}

    @app.get("/readyz", summary="Whether it takes changes", response_model=Health, responses={503: not_ready})
    async def ready() -> Response:
        if parts.feed.latest is None or not parts.operator.available:
            return Json({"status": "not ready"}, 503, {"Retry-After": "1"})
        return Json({"status": "ok"})
