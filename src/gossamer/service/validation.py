"""Validation of requests: unknown and repeated parameters, and what is wrong with a value, in words."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

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
