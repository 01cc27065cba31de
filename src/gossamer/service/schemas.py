"""Bodies of requests as typed values, and what answers look like.

Validation of requests: unknown and repeated parameters, and what is wrong with a value, in words.
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
"""Characters of a wrong value that are told again."""
_MOST_TEXT: Final = 200
_BRANCHES: Final = ("list[str]", "str")  # of a field that may be either, as pydantic calls them

_WANTED: Final[Mapping[str, str]] = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be {expected}",
    "too_short": "must have at least {min_length}",
    "too_long": "may have at most {max_length}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "may have at most {max_length} characters",
}


def problem(status: int, error: str, field: str | None = None, retry: bool = False) -> HTTPException:
    return HTTPException(status, {"error": error, "field": field}, {"Retry-After": "1"} if retry else None)


def first_of(errors: Sequence[Mapping[str, Any]], skip: int = 0) -> tuple[str, str | None]:
    """The first of a validation's errors in words, and the field that it is about. The first `skip` parts of a place
    are not the caller's."""
    first = errors[0]
    field = _field(first, skip)
    wanted = _wanted(first)
    if first["type"] == "list_type" and any(e["type"] == "string_type" and _field(e, skip) == field for e in errors):
        wanted = "must be a list or a text"
    if first["type"] == "missing":
        said = "is missing"
    elif first["type"] == "extra_forbidden":
        said = "is not known here"
    else:
        said = f"{wanted}, not {shown(first['input'])}"
    return f"{field or 'the body'}: {said}"[:_MOST_TEXT], field


def _field(error: Mapping[str, Any], skip: int) -> str | None:
    return ".".join(str(part) for part in error["loc"][skip:] if part not in _BRANCHES) or None


def _wanted(error: Mapping[str, Any]) -> str:
    pattern = _WANTED.get(error["type"])
    return str(error["msg"]) if pattern is None else pattern.format(**error.get("ctx", {}))


def shown(value: object) -> str:
    """A value that was given, on one line: short ones as JSON has them, of long ones the beginning or the size."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value if not isinstance(value, str) else value[: LONGEST_VALUE + 1], ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE + 2 else text[:LONGEST_VALUE] + "…"


class StrictRoute(APIRoute):
    """Refuses a parameter that it does not have, or that is given twice, with 422. Where there are none at all nothing
    can be meant by one: scrapers and proxies add their own, and they are passed over."""

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
    met: set[str] = set()
    for name, value in request.query_params.multi_items():
        if name not in known:
            has = ", ".join(sorted(known))
            raise problem(422, f"{shown(name)} is no parameter of {request.url.path}; there are {has}", name[:100])
        if name in met:
            raise problem(422, f"{name}: given twice, again as {shown(value)}", name)
        met.add(name)


M = TypeVar("M", bound=BaseModel)

MOST_URLS = 100_000
_DECODER = msgspec.json.Decoder(float_hook=float)  # a number that is too large is JSON, and its field can be named
_MOST_DEPTH = 1_000_000


def _whole(value: object) -> object:
    """20.0 is a whole number to JSON, and to us."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]


class Body(BaseModel):
    """A request's: nothing is guessed, nothing is passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)


_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
_SOME_URL = r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s,][^\x00-\x1f\x7f]*$"


class Seeds(Body):
    # The patterns are for whoever reads the description: a hundred thousand URLs are checked in `routes`, at once.
    urls: (
        Annotated[
            list[Annotated[str, WithJsonSchema({"type": "string", "pattern": _ONE_LINE})]],
            Field(min_length=1, max_length=MOST_URLS),
        ]
        | Annotated[str, WithJsonSchema({"type": "string", "pattern": _SOME_URL})]
    ) = Field(description="a list of URLs, or one string of URLs separated by commas")


class NewLimits(Body):
    excludedDomains: list[Annotated[str, WithJsonSchema({"type": "string", "format": "domain"})]] | None = Field(
        default=None, max_length=100_000, description="with all names below them; if absent they stay as they are"
    )
    depthLimit: Whole = Field(ge=0, le=_MOST_DEPTH, description="links followed from a seed")
    urlLengthLimit: Whole = Field(ge=16, le=65_536, description="bytes of a URL in its canonical form")


class HostAction(Body):
    action: Literal["pause", "resume", "delay", "drop"]
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = Field(
        default=None,
        description="with `delay` only: the least gap after an answer; null for what the configuration says",
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
    host: str | None = Field(default=None, description="only those of this host")
    reason: str | None = Field(default=None, description="only those that died of this")
    urls: list[str] | None = Field(
        default=None, max_length=10_000, description="only these; not together with `host` or `reason`"
    )

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"urls": {"type": "null"}}},
                {"properties": {"host": {"type": "null"}, "reason": {"type": "null"}}},
            ]
        }
    )


class CrawlAction(Body):
    action: Literal["pause", "resume", "stop"]


# --- answers ---------------------------------------------------------------------------------------------


class Problem(BaseModel):
    error: str
    field: str | None = Field(default=None, description="the part of the request that is wrong")


class SeedAnswer(BaseModel):
    given: str
    status: Literal["accepted", "known", "refused"]
    url: str | None = Field(description="its canonical form")
    reason: str | None = Field(description="why it is refused")
    meaning: str | None = Field(description="the same in words")


class SeedsAnswer(BaseModel):
    accepted: int
    known: int
    refused: int
    results: list[SeedAnswer] = Field(description="one for each URL, in order; of a stream only the first refusals")


class LimitsAnswer(BaseModel):
    excludedDomains: list[str]
    depthLimit: int
    urlLengthLimit: int
    returned: int = Field(default=0, description="URLs that are queued again because a limit was lifted")


class HostAnswer(BaseModel):
    """As `gossamer hosts --json` has it. Moments are ISO 8601 in UTC, durations are
    seconds."""

    host: str
    domain: str
    state: Literal["failing", "done", "new", "resting", "ready"]
    queued: int
    fetched: int
    stored: int
    known: int
    address: str | None
    delay: float = Field(description="the usual gap after an answer")
    next_contact: str | None
    wait: float = Field(description="until it may be contacted")
    rest_reason: str | None
    last_took: float
    trouble: str | None
    excluded: dict[str, int] = Field(description="by reason")
    cuts: list[dict[str, str]] = Field(description="what was cut as a trap")
    paused: bool = Field(description="it is not contacted until it is resumed")
    dropped: bool = Field(description="its URLs become excluded when their turn comes")
    ordered_delay: float | None = Field(description="the least gap after an answer, as it was ordered")


class SteeredHost(HostAnswer):
    returned: int = Field(description="URLs that are queued again because the host was resumed")


class HostsAnswer(BaseModel):
    hosts: list[HostAnswer]
    total: int
    next: int | None = Field(description="the offset of the next page")


class PagesAnswer(BaseModel):
    pages: list[dict[str, Any]] = Field(description="as `gossamer pages --json` has them")
    next: int | None = Field(description="what to give as `after`; a window may be empty and yet not the last")


class DeadAnswer(BaseModel):
    dead: list[dict[str, Any]] = Field(description="as `gossamer dead --json` has them")
    next: int | None


class Done(BaseModel):
    done: int = Field(description="how many URLs were moved")


class CrawlAnswer(BaseModel):
    state: StateOfCrawl


class StatusAnswer(BaseModel):
    """The object of `gossamer crawl --json`, and figures of the moment; there are more than are named here."""

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
    cpu_seconds: float = Field(description="of the crawl's process, this run")
    max_rss_bytes: int = Field(description="of the crawl's process")
    front: dict[str, float] | None = Field(
        default=None,
        description="the same of the process that has the connections: `cpu_seconds`, `rss_bytes`, `max_rss_bytes`",
    )
    politeness_violations: int = Field(description="by our own audit; must be 0")
    finished: bool
    at: str = Field(description="when this was so: ISO 8601, UTC")
    state: StateOfCrawl
    in_flight: int
    hosts_ready: int
    hosts_waiting: int
    waiting_for: str


class Health(BaseModel):
    status: Literal["ok", "not ready"]


def type_of(request: Request) -> str:
    """The type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, kind: type[M]) -> M:
    """The body as a value. Raises HTTPException: 415 for one that is not called JSON, as a form of another site in a
    browser would send it; 400 for what is no JSON, 422 naming the field that cannot be."""
    if type_of(request) != "application/json":
        raise problem(415, f"the body must be application/json, not {shown(type_of(request))}")
    raw = await request.body()
    try:
        found = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise problem(400, f"the body is no JSON: {said[:200]}") from None
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise problem(422, *first_of(error.errors(include_url=False))) from None


def described(kind: type[BaseModel], *more: str) -> dict[str, Any]:
    """What OpenAPI is told of a body that `read_body` reads; `more` are other types that are taken as well."""
    content: dict[str, Any] = {"application/json": {"schema": kind.model_json_schema()}}
    content.update({each: {"schema": {"type": "string"}} for each in more})
    return {"requestBody": {"required": True, "content": content}}
