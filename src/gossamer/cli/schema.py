"""`gossamer schema`: prints the JSON Schema of an output. The schemas are made from the types that the outputs have."""

import argparse
import dataclasses
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from gossamer.cli import argparse_types as given
from gossamer.cli.dead import DropObject, RequeueObject
from gossamer.cli.index import IndexObject
from gossamer.cli.serve import ServeObject
from gossamer.cli.verify import VerifyObject
from gossamer.library.crawl_status import StatusObject
from gossamer.observe.snapshot import CrawlObject
from gossamer.observe.workers import WorkerObject
from gossamer.reports.explain.story import Story
from gossamer.reports.export.tables import LINKS, PAGES_WITH_PARTS, TEXT_WITH_MARKDOWN, Column, Kind
from gossamer.reports.queries import HostObject
from gossamer.reports.records import DeadObject

Schema = dict[str, Any]

USAGE = "NAME"
DESCRIPTION = """\
Print the JSON Schema (2020-12) of an output: `page` for gossamer pages, export
and GET /pages; `link` and `text` for export --what links and text; the others
for the commands of their names. The field `v` of each object is the number of
its version. A new field keeps the number; any other change raises it."""
EXAMPLE = "  gossamer schema page > page.json"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", choices=list(SCHEMAS), help=f"the output: {', '.join(SCHEMAS)}")


def run(arguments: argparse.Namespace) -> int:
    sys.stdout.write(schema_text(str(given.text(arguments, "name"))))
    return 0


def schema_text(name: str) -> str:
    """The JSON Schema of an output as text."""
    made = SCHEMAS[name]()
    (version,) = made["properties"]["v"]["enum"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{name}/{version}"}
    return json.dumps({**head, **made}, indent=2) + "\n"


# --- tables ----------------------------------------------------------------------------------------------


_KINDS: dict[Kind, Schema] = {
    Kind.TEXT: {"type": "string"},
    Kind.WHOLE: {"type": "integer"},
    Kind.REAL: {"type": "number"},
    Kind.FLAG: {"type": "boolean"},
    Kind.MOMENT: {"type": "string", "format": "date-time"},
    Kind.PARTS: {"type": "object", "additionalProperties": {"type": "number"}},
}


def of_columns(columns: Sequence[Column], optional: Sequence[str] = ()) -> Schema:
    """The objects that a table has in JSON."""
    return {
        "type": "object",
        "properties": {column.name: _of_column(column) for column in columns},
        "required": [column.name for column in columns if column.name not in optional],
    }


def _of_column(column: Column) -> Schema:
    found: Schema = {"enum": list(column.values)} if column.values else _KINDS[column.kind]
    found = _or_null(found) if column.null else found
    return {**found, "description": column.about} if column.about else found


# --- types -----------------------------------------------------------------------------------------------


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def of_type(kind: Any) -> Schema:
    """The JSON form of a type: typed dictionaries, data classes as `explain` writes them, and what is in them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**of_type(arguments[0]), "description": arguments[1]}
    if origin is NotRequired:
        return of_type(arguments[0])
    if origin in (Union, UnionType):
        return _of_union([each for each in arguments if each is not NoneType], null=NoneType in arguments)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple and arguments[-1] is not ...:
        return {"type": "array", "prefixItems": [of_type(each) for each in arguments], "items": False}
    if origin in (tuple, list):
        return {"type": "array", "items": of_type(arguments[0])}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": of_type(arguments[1])}
    if hasattr(kind, "__supertype__"):
        return of_type(kind.__supertype__)
    if kind is object:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _of_fields(kind)
    assert issubclass(kind, Enum), kind
    return {"enum": [each.name.lower() for each in kind]}


def _of_fields(kind: type) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    about = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return {
        "type": "object",
        **({"description": " ".join(about.split())} if about else {}),
        "properties": {name: _of_field(name, hint) for name, hint in hints.items()},
        "required": [name for name in hints if name not in getattr(kind, "__optional_keys__", ())],
    }


def _of_field(name: str, hint: Any) -> Schema:
    """Times are numbers in data classes, and text in JSON."""
    found = of_type(hint)
    if not name.endswith("_at"):
        return found
    moment = _KINDS[Kind.MOMENT]
    return {**found, **(_or_null(moment) if isinstance(found["type"], list) else moment)}


def _of_union(kinds: Sequence[Any], *, null: bool) -> Schema:
    found = of_type(kinds[0]) if len(kinds) == 1 else {"anyOf": [of_type(each) for each in kinds]}
    return _or_null(found) if null else found


def _or_null(found: Schema) -> Schema:
    if "enum" in found:
        return {**found, "enum": [*found["enum"], None]}
    if "type" in found:
        return {**found, "type": [found["type"], "null"]}
    return {"anyOf": [*found["anyOf"], {"type": "null"}]}


def _of_explanation() -> Schema:
    found = of_type(Story)
    properties = {"v": {"enum": [1]}, **found["properties"]}
    return {**found, "properties": properties, "required": list(properties)}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "page": lambda: of_columns(PAGES_WITH_PARTS, optional=("priority_parts",)),
    "status": lambda: of_type(StatusObject),
    "host": lambda: of_type(HostObject),
    "dead": lambda: of_type(DeadObject),
    "explain": _of_explanation,
    "crawl": lambda: of_type(CrawlObject),
    "text": lambda: of_columns(TEXT_WITH_MARKDOWN, optional=("markdown",)),
    "link": lambda: of_columns(LINKS),
    "verify": lambda: of_type(VerifyObject),
    "index": lambda: of_type(IndexObject),
    "serve": lambda: of_type(ServeObject),
    "dead-requeue": lambda: of_type(RequeueObject),
    "dead-drop": lambda: of_type(DropObject),
    "worker": lambda: of_type(WorkerObject),
}
