"""The web application: routes for status, metrics, events and health, error responses, and the files of the dashboard.

Creating it starts nothing. The routes for seeds, limits, hosts, pages and dead letters are in `routes`.
"""

from collections.abc import AsyncIterator, Sequence
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

from gossamer.errors import ConfigError, StoreFailed
from gossamer.observe.formatter import timestamp
from gossamer.observe.snapshot import Snapshot, StateOfCrawl, crawl_state, to_contract
from gossamer.observe.workers import WorkerStatus, worker_object
from gossamer.service.access import API_PREFIX, Receive, Scope, Send, TooLarge
from gossamer.service.control import Unavailable
from gossamer.service.live_view import LiveView
from gossamer.service.metrics import CONTENT_TYPE, prefers_json
from gossamer.service.routes import Dependencies, add_routes
from gossamer.service.schemas import (
    CrawlAction,
    CrawlAnswer,
    Health,
    Problem,
    StatusAnswer,
    StrictRoute,
    body_schema,
    describe_error,
    http_error,
    quote,
    read_body,
)
from gossamer.version import __version__

FOLDER = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MODULES = (
    "main", "api", "charts", "dead", "dom", "engine", "explain", "forms", "health", "host", "hosts", "metrics", "pages",
    "progress", "stream", "text", "theme", "workers",
)  # fmt: skip
NAMES = ("icon.svg", "style.css", *(f"{module}.js" for module in MODULES))
FILES = {"/": "index.html", "/docs": "docs.html", **{f"/page/{name}": name for name in NAMES}}
"""Path -> file. A path in a request never names a file."""


@cache
def file_at(path: str) -> tuple[bytes, str]:
    """The file for a path, and its media type."""
    found = FOLDER / FILES[path]
    return found.read_bytes(), f"{KINDS[found.suffix]}; charset=utf-8"


def add_dashboard(app: FastAPI) -> None:
    """Add a route for each file of the dashboard."""
    for path in FILES:
        _add_file(app, path)


def _add_file(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def file() -> Response:
        body, kind = file_at(path)
        return Response(body, headers={"Content-Type": kind})


_ENCODE = msgspec.json.encode

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "malformed request"},
    401: {"model": Problem, "description": "missing or wrong token"},
    403: {"model": Problem, "description": "unknown host name or cross-origin request"},
    404: {"model": Problem, "description": "not found"},
    405: {"model": Problem, "description": "method not allowed; see the `Allow` header"},
    413: {"model": Problem, "description": "body too large"},
    415: {"model": Problem, "description": "the body is not JSON"},
    422: {"model": Problem, "description": "invalid value; `field` names it"},
    429: {"model": Problem, "description": "too many requests"},
    503: {"model": Problem, "description": "the store is unavailable; try again later"},
}


class Json(JSONResponse):
    """JSON encoded by msgspec. The content consists of plain values."""

    def render(self, content: object) -> bytes:
        return _ENCODE(content)


def make_app(dependencies: Dependencies) -> FastAPI:
    """The application, without access control."""
    app = bare_app()
    add_routes(app, dependencies)
    _add_monitoring(app, dependencies)
    _add_health(app, dependencies)
    add_dashboard(app)
    return app


def description() -> dict[str, Any]:
    """The OpenAPI description of the service: docs/openapi.json."""
    return make_app(Dependencies()).openapi()  # the routes are not called, so they need no dependencies


class Described(FastAPI):
    """Adds to the OpenAPI description which requests need the token."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            found = super().openapi()
            found.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path in found["paths"].values():
                if "post" in path:
                    path["post"]["security"] = [{"token": []}]
                if "get" in path:
                    path["get"]["security"] = [{}, {"token": []}]  # required unless the service listens on loopback
        assert self.openapi_schema is not None
        return self.openapi_schema


def bare_app() -> FastAPI:
    app = Described(
        title="Gossamer",
        version=__version__,
        summary="Control and monitor a running crawl: seeds, limits, metrics, hosts, pages, dead letters",
        servers=[
            {"url": API_PREFIX, "description": "stable"},
            {"url": "/", "description": "the same routes"},
        ],
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
    text, field = describe_error(error.errors(), skip=1)
    return Json({"error": text, "field": field}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    detail: object = error.detail
    body = detail if isinstance(detail, dict) else {"error": str(detail).lower(), "field": None}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = allowed = ", ".join(_allowed_methods(request))
        body = {"error": f"{request.method} is not allowed for {quote(request.url.path)}; use {allowed}", "field": None}
    elif error.status_code == 404 and not isinstance(detail, dict):
        body = {"error": f"{quote(request.url.path)} does not exist", "field": None}
    return Json(body, error.status_code, headers)


def _allowed_methods(request: Request) -> list[str]:
    """The methods of all routes for a path."""
    routes: list[Any] = request.app.router.routes
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {method for route in matching for method in route.methods}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)  # access control turns HEAD into GET


async def _unavailable(_: Request, error: Exception) -> Response:
    reason = str(error) if isinstance(error, Unavailable) else "the store is unavailable"
    return Json({"error": reason, "field": None}, 503, {"Retry-After": "1"})


async def _wrong_value(_: Request, error: Exception) -> Response:
    assert isinstance(error, ConfigError)
    return Json({"error": str(error)[:200], "field": error.key}, 422)


async def _too_large(_: Request, error: Exception) -> Response:
    return Json({"error": "the body is too large", "field": None}, 413, {"Connection": "close"})


# --- status, metrics, events -----------------------------------------------------------------------------


def status_object(snapshot: Snapshot, view: LiveView) -> dict[str, object]:
    """The object of `/status` and of `status` events: that of `gossamer crawl --json`, and current values."""
    config, workers = view.config, view.workers
    return {
        **to_contract(snapshot),
        "at": timestamp(snapshot.at),
        "state": state_of(snapshot, workers),
        "directory": str(Path(config.dir).absolute()),
        "max_pages": config.max_pages,
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
        "workers": None if workers is None else [worker_object(worker) for worker in workers],
    }


def state_of(latest: Snapshot | None, workers: Sequence[WorkerStatus] | None = None) -> StateOfCrawl:
    """The state of the crawl according to its last snapshot; `running` before the first one. `workers`: those that are
    alive, if workers share the crawl."""
    if latest is None:
        return "running"
    if workers is not None and not workers and not latest.store_failing:
        return "at rest"
    return crawl_state(
        stopping=latest.stopping,
        paused=latest.paused,
        store_failing=latest.store_failing,
        store_slow=latest.store_slow,
        busy=latest.is_busy,
    )


def _add_monitoring(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/status", summary="Totals of the crawl and its current state", response_model=StatusAnswer)
    async def status() -> Response:
        latest = dependencies.crawl.latest
        if latest is None:
            raise http_error(503, "the crawl is starting", retry=True)
        return Json(status_object(latest, dependencies.crawl))

    @app.get(
        "/metrics",
        summary="Metrics in Prometheus text format, or as JSON if the Accept header prefers it",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}, "application/json": {}}}},
    )
    async def metrics(request: Request) -> Response:
        if prefers_json(request.headers.get("accept", "")):
            return Json(dependencies.metrics.plain())
        return Response(dependencies.metrics.text(), media_type=CONTENT_TYPE)

    @app.get(
        "/events",
        summary="Status every second and outcomes of visits, as server-sent events",
        response_class=Response,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def events(
        last: Annotated[
            str | None, Header(alias="Last-Event-ID", description="`id` of the last event received")
        ] = None,
    ) -> Response:
        """A client that reconnects with the last `id` receives the outcomes since then, as far as they are kept."""
        return EventsResponse(dependencies, last)

    @app.get("/crawl", summary="State of the crawl", response_model=CrawlAnswer)
    async def crawl() -> Response:
        return Json({"state": state_of(dependencies.crawl.latest, dependencies.crawl.workers)})

    @app.post(
        "/crawl",
        summary="Pause, resume or stop the crawl",
        response_model=CrawlAnswer,
        openapi_extra=body_schema(CrawlAction),
    )
    async def steer(request: Request) -> Response:
        """`pause` starts no more visits and `resume` starts them again; both persist across restarts. `stop` finishes
        the visits in flight and ends the service."""
        wanted = await read_body(request, CrawlAction)
        if wanted.action == "stop":
            await dependencies.control.stop()
            return Json({"state": "stopping"})
        await dependencies.control.pause(wanted.action == "pause")
        return Json({"state": state_of(dependencies.crawl.latest, dependencies.crawl.workers)})


class EventsResponse(StreamingResponse):
    """The stream of one client, or 503. A client is counted from its admission to the end of its response, so a client
    that never reads is counted too."""

    def __init__(self, dependencies: Dependencies, last: str | None) -> None:
        super().__init__(_events(dependencies, last), media_type="text/event-stream")
        self._stream = dependencies.stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stream.admit() as is_admitted:
            if is_admitted:
                await super().__call__(scope, receive, send)
                return
        full = {"error": "too many clients are connected to /events", "field": None}
        await Json(full, 503, {"Retry-After": "1"})(scope, receive, send)


async def _events(dependencies: Dependencies, last: str | None) -> AsyncIterator[bytes]:
    position = dependencies.stream.position(last)
    yield b"retry: 2000\n\n"
    yield _event("history", dependencies.stream.history(), position)
    async for snapshot, outcomes, reached in dependencies.stream.updates(last=position):
        yield _event("status", status_object(snapshot, dependencies.crawl))
        yield _event("moment", dependencies.stream.details(snapshot))
        if outcomes:
            yield _event("visits", outcomes, reached)
    yield _event("end", {})


def _event(name: str, data: object, position: str | None = None) -> bytes:
    """One server-sent event. A client that reconnects continues after the last `position` it received."""
    identity = b"" if position is None else b"id: " + position.encode("ascii") + b"\n"
    return identity + b"event: " + name.encode("ascii") + b"\ndata: " + _ENCODE(data) + b"\n\n"


def _add_health(app: FastAPI, dependencies: Dependencies) -> None:
    @app.get("/healthz", summary="Liveness: the process is running", response_model=Health)
    async def alive() -> Response:
        return Json({"status": "ok"})

    not_ready = {"model": Health, "description": "not ready; try again later"}

    @app.get("/readyz", summary="Readiness: changes are accepted", response_model=Health, responses={503: not_ready})
    async def ready() -> Response:
        if not dependencies.control.available:
            return Json({"status": "not ready"}, 503, {"Retry-After": "1"})
        return Json({"status": "ok"})
