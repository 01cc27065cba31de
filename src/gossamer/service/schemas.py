"""Models of request and response bodies, and validation: unknown or repeated parameters and invalid values are rejected
with a readable message.
"""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from gossamer.observe.snapshot import StateOfCrawl

LONGEST_VALUE: Final = 60
"""Characters of an invalid value that an error message quotes."""
_MOST_TEXT: Final = 200
_BRANCHES: Final = ("list[str]", "str")  # pydantic's names for the alternatives of a union

_MESSAGES: Final[Mapping[str, str]] = {
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_parsing_size": "must be a smaller integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be {expected}",
    "too_short": "length must be at least {min_length}",
    "too_long": "length must be at most {max_length}",
    "string_too_short": "length must be at least {min_length}",
    "string_too_long": "length must be at most {max_length}",
}


def http_error(status: int, error: str, field: str | None = None, retry: bool = False) -> HTTPException:
    return HTTPException(status, {"error": error, "field": field}, {"Retry-After": "1"} if retry else None)


def describe_error(errors: Sequence[Mapping[str, Any]], skip: int = 0) -> tuple[str, str | None]:
    """The first of pydantic's errors as text, and the field it concerns. The first `skip` elements of its location are
    not part of the request."""
    first = errors[0]
    field = _field(first, skip)
    message = _message(first)
    if first["type"] == "list_type" and any(e["type"] == "string_type" and _field(e, skip) == field for e in errors):
        message = "must be a list or a string"
    if first["type"] == "missing":
        text = "missing"
    elif first["type"] == "extra_forbidden":
        text = "unknown field"
    else:
        text = f"{message}, not {quote(first['input'])}"
    return f"{field or 'body'}: {text}"[:_MOST_TEXT], field


def _field(error: Mapping[str, Any], skip: int) -> str | None:
    return ".".join(str(part) for part in error["loc"][skip:] if part not in _BRANCHES) or None


def _message(error: Mapping[str, Any]) -> str:
    pattern = _MESSAGES.get(error["type"])
    return str(error["msg"]) if pattern is None else pattern.format(**error.get("ctx", {}))


def quote(value: object) -> str:
    """A value of the request on one line: short values as JSON, long ones truncated, lists and objects by size."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value if not isinstance(value, str) else value[: LONGEST_VALUE + 1], ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE + 2 else text[:LONGEST_VALUE] + "…"


class StrictRoute(APIRoute):
    """Rejects unknown and repeated query parameters with 422. Routes without parameters ignore them, because scrapers
    and proxies add their own."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = {parameter.alias for parameter in self.dependant.query_params}
        if not known:
            return handle

        async def strict(request: Request) -> Response:
            if request.scope["query_string"]:
                _check(request, known)
            return await handle(request)

        return strict


def _check(request: Request, known: set[str]) -> None:
    given: set[str] = set()
    for name, value in request.query_params.multi_items():
        if name not in known:
            names = ", ".join(sorted(known))
            text = f"unknown parameter {quote(name)} of {request.url.path}; known parameters are {names}"
            raise http_error(422, text, name[:100])
        if name in given:
            raise http_error(422, f"{name}: given more than once, the second time as {quote(value)}", name)
        given.add(name)


M = TypeVar("M", bound=BaseModel)

MOST_URLS = 100_000
_DECODER = msgspec.json.Decoder(float_hook=float)  # accepts numbers of any size; validation can then name the field
_MOST_DEPTH = 1_000_000


def _whole(value: object) -> object:
    """Accept 20.0 as an integer, as JSON does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]


class Body(BaseModel):
    """A request body: no type conversion, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
_SOME_URL = r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s,][^\x00-\x1f\x7f]*$"


class Seeds(Body):
    # The patterns only document the format; `routes` checks the URLs, which is faster for a hundred thousand of them.
    urls: (
        Annotated[
            list[Annotated[str, WithJsonSchema({"type": "string", "pattern": _ONE_LINE})]],
            Field(min_length=1, max_length=MOST_URLS),
        ]
        | Annotated[str, WithJsonSchema({"type": "string", "pattern": _SOME_URL})]
    ) = Field(description="a list of URLs, or one string: URLs separated by commas, or a JSON list of them")


class NewLimits(Body):
    excludedDomains: list[Annotated[str, WithJsonSchema({"type": "string", "format": "domain"})]] | None = Field(
        default=None, max_length=100_000, description="including their subdomains; unchanged if absent"
    )
    # Only `model_fields_set` says which limits are given; null is not a limit.
    depthLimit: Whole = Field(
        default_factory=int, ge=0, le=_MOST_DEPTH, description="links followed from a seed; unchanged if absent"
    )
    urlLengthLimit: Whole = Field(
        default_factory=int, ge=16, le=65_536, description="bytes of a URL in its canonical form; unchanged if absent"
    )

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})


class HostAction(Body):
    action: Literal["pause", "resume", "delay", "drop"]
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = Field(
        default=None,
        description="with `delay` only: the minimum delay after a response; null for the configured one",
    )

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"action": {"const": "delay"}}},
            "then": {"required": ["seconds"]},
            "else": {"properties": {"seconds": {"type": "null"}}},
        }
    )


class DeadAction(Body):
    action: Literal["requeue", "drop"]
    host: str | None = Field(default=None, description="only dead letters of this host")
    reason: str | None = Field(default=None, description="only dead letters with this reason")
    failure_class: Literal["failed", "corrupted"] | None = Field(
        default=None, alias="class", description="only dead letters of this class"
    )
    urls: list[str] | None = Field(
        default=None, max_length=10_000, description="only these URLs; cannot be combined with the other fields"
    )

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"urls": {"type": "null"}}},
                {"properties": {"host": {"type": "null"}, "reason": {"type": "null"}, "class": {"type": "null"}}},
            ]
        }
    )


class CrawlAction(Body):
    action: Literal["pause", "resume", "stop"]


# --- responses -------------------------------------------------------------------------------------------


class Problem(BaseModel):
    error: str
    field: str | None = Field(default=None, description="the invalid part of the request")


class SeedAnswer(BaseModel):
    given: str
    status: Literal["accepted", "known", "refused"]
    url: str | None = Field(description="canonical form")
    reason: str | None = Field(description="reason of the refusal")
    meaning: str | None = Field(description="the reason as readable text")


class SeedsAnswer(BaseModel):
    accepted: int
    known: int
    refused: int
    results: list[SeedAnswer] = Field(description="one per URL, in order; for a stream, the first refusals only")


class LimitsAnswer(BaseModel):
    excludedDomains: list[str]
    depthLimit: int
    urlLengthLimit: int
    excluded: int = Field(default=0, description="queued URLs excluded because a limit was tightened")
    returned: int = Field(default=0, description="URLs requeued because a limit was lifted")
    unchecked: int = Field(default=0, description="known URLs to be checked; 0 when the change is complete")
    rereading: int = Field(default=0, description="pages to be read again for links that the former limits refused")


class HostAnswer(BaseModel):
    """`host/1`, as in `gossamer hosts --json`. Dates are ISO 8601 in UTC, durations are in seconds."""

    v: Literal[1] = Field(description="version of this form")
    host: str
    domain: str
    state: Literal["failing", "done", "new", "resting", "ready"]
    queued: int
    fetched: int
    stored: int
    known: int
    address: str | None
    delay: float = Field(description="delay after a response that is in force")
    next_contact: str | None
    wait: float = Field(description="time until it may be contacted")
    rest_reason: str | None
    last_took: float
    trouble: str | None
    excluded: dict[str, int] = Field(description="by reason")
    cuts: list[dict[str, str]] = Field(description="parts of the site excluded as traps")
    paused: bool = Field(description="not contacted until it is resumed")
    dropped: bool = Field(description="its URLs become excluded when they would be visited")
    ordered_delay: float | None = Field(description="minimum delay after a response set through the API")


class SteeredHost(HostAnswer):
    returned: int = Field(description="URLs requeued because the host was resumed")


class HostsAnswer(BaseModel):
    hosts: list[HostAnswer]
    total: int
    next: int | None = Field(description="offset of the next page of the list")


class PagesAnswer(BaseModel):
    pages: list[dict[str, Any]] = Field(description="`page/1`, as in `gossamer pages --json`")
    next: int | None = Field(description="value of `after` for the next window; a window may be empty and not the last")


class DeadAnswer(BaseModel):
    dead: list[dict[str, Any]] = Field(description="`dead/1`, as in `gossamer dead --json`")
    next: int | None


class Done(BaseModel):
    done: int = Field(description="number of changed URLs")


class CrawlAnswer(BaseModel):
    state: StateOfCrawl


class StatusAnswer(BaseModel):
    """The object of `gossamer crawl --json` with current values; it has more fields than are listed here."""

    model_config = ConfigDict(extra="allow")

    pages: int = Field(description="documents stored")
    fetched: int = Field(description="responses received")
    bytes: int
    discovered: int
    queued: int
    duplicates: int
    near_duplicates: int
    errors: dict[str, int] = Field(description="by reason")
    excluded: dict[str, int] = Field(description="by reason")
    dead: int
    hosts: int
    seconds: float
    cpu_seconds: float = Field(description="of the crawl process, this run")
    max_rss_bytes: int = Field(description="of the crawl process, plus that of the process that parses large pages")
    front: dict[str, float] | None = Field(
        default=None,
        description="`cpu_seconds`, `rss_bytes` and `max_rss_bytes` of the process that holds the connections",
    )
    politeness_violations: int = Field(description="found by the independent audit; must be 0")
    finished: bool
    at: str = Field(description="time of the snapshot: ISO 8601, UTC")
    state: StateOfCrawl
    directory: str = Field(description="the crawl directory")
    max_pages: int | None = Field(description="stored pages after which the crawl stops; null: no limit")
    in_flight: int
    hosts_ready: int
    hosts_waiting: int
    waiting_for: str
    workers: list[dict[str, Any]] | None = Field(
        default=None,
        description="the workers that are alive (`worker/1`); null if the store is not one that workers share",
    )


class Health(BaseModel):
    status: Literal["ok", "not ready"]


def type_of(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, kind: type[M]) -> M:
    """The validated body. Raises HTTPException: 415 if its type is not JSON (a cross-site form in a browser cannot send
    that type), 400 if it is not valid JSON, 422 with the name of an invalid field."""
    if type_of(request) != "application/json":
        raise http_error(415, f"the body must be application/json, not {quote(type_of(request))}")
    raw = await request.body()
    try:
        found = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise http_error(400, f"the body is not valid JSON: {reason[:200]}") from None
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise http_error(422, *describe_error(error.errors(include_url=False))) from None


def body_schema(kind: type[BaseModel], *more: str) -> dict[str, Any]:
    """The OpenAPI description of a body that `read_body` reads; `more` are other accepted media types."""
    content: dict[str, Any] = {"application/json": {"schema": kind.model_json_schema()}}
    content.update({each: {"schema": {"type": "string"}} for each in more})
    return {"requestBody": {"required": True, "content": content}}
