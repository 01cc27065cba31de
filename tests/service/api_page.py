"""The page `/docs`: the routes of the service as HTML without scripts, made from its OpenAPI description."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API – Gossamer</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/style.css">
<script src="/page/theme.js"></script>
</head>
<body class="api">
<!-- made by `make docs` from docs/openapi.json -->
<header class="bar">
<div class="brand"><img src="/page/icon.svg" alt="" width="28" height="28"><h1>Gossamer API</h1></div>
<nav aria-label="Other pages"><a href="/">Dashboard</a><a href="/openapi.json">OpenAPI</a></nav></header>
<main>
"""
INTRODUCTION = """\
<section class="card"><h2>Requests</h2>
<p>Every route exists under <code>/api/v1</code>, where it is stable: fields may be added, and clients should ignore
those that they do not know. The same routes exist without this prefix. Changes need the token, as
<code>Authorization: Bearer TOKEN</code>, and take JSON. If the service is bound to another address than loopback,
reading needs the token too.</p>
<p>An error is a JSON object: <code>error</code> is a message, <code>field</code> the part of the request that is
wrong.</p>
<table><thead><tr><th scope="col">status</th><th scope="col">meaning</th></tr></thead><tbody>
"""


def api_page(description: Schema) -> str:
    return "".join([HEAD, *_introduction(description), *_sections(description), "</main>\n</body>\n</html>\n"])


def _introduction(description: Schema) -> Iterator[str]:
    yield INTRODUCTION
    errors: dict[str, str] = {}
    for _, operation in _operations(description):
        for status, response in operation["responses"].items():
            if not status.startswith("2"):
                errors.setdefault(status, response["description"])
    for status, meaning in sorted(errors.items()):
        yield f'<tr><th scope="row">{status}</th><td>{_text(meaning)}</td></tr>\n'
    yield "</tbody></table>\n<h3>Routes</h3>\n<ul>\n"
    for name, operation in _operations(description):
        yield f'<li><a href="#{_anchor(name)}"><code>{escape(name)}</code></a> {_text(operation["summary"])}</li>\n'
    yield "</ul></section>\n"


def _operations(description: Schema) -> Iterator[tuple[str, Schema]]:
    """(`GET /path`, operation), in the order of their paths."""
    for path, methods in sorted(description["paths"].items()):
        for method, operation in sorted(methods.items()):
            yield f"{method.upper()} {path}", operation


def _sections(description: Schema) -> Iterator[str]:
    schemas = description["components"]["schemas"]
    for name, operation in _operations(description):
        yield f'<section class="card" id="{_anchor(name)}"><h2><code>{escape(name)}</code></h2>\n'
        yield f"<p>{_text(operation['summary'])}.</p>\n"
        if operation.get("description"):
            yield f"<p>{_text(operation['description'])}</p>\n"
        parameters = operation.get("parameters", [])
        rows = [
            (each["name"], each["schema"], each.get("description", ""), each.get("required", False))
            for each in parameters
        ]
        yield from _table("Parameters", rows)
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if body is not None:
            yield from _table("Body", _fields(body))
        for kind, content in operation["responses"]["200"].get("content", {}).items():
            found = _resolved(content.get("schema", {}), schemas)
            title = f"Response, <code>{escape(kind)}</code>"
            if "properties" in found:
                yield from _table(title, _fields(found))
            else:
                yield f"<h3>{title}</h3>\n"
        yield "</section>\n"


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    found: Schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _fields(schema: Schema) -> list[tuple[str, Schema, str, bool]]:
    required = schema.get("required", [])
    return [
        (name, each, each.get("description", ""), name in required)
        for name, each in schema.get("properties", {}).items()
    ]


def _table(title: str, rows: list[tuple[str, Schema, str, bool]]) -> Iterator[str]:
    if not rows:
        return
    yield f'<h3>{title}</h3>\n<table><thead><tr><th scope="col">name</th><th scope="col">type</th>'
    yield '<th scope="col">description</th></tr></thead><tbody>\n'
    for name, schema, description, required in rows:
        words = [description] if description else []
        if title in ("Parameters", "Body") and required:
            words.append("required")
        if schema.get("default") not in (None, "") and not required:
            words.append(f"default: `{schema['default']}`")
        yield f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{_type(schema)}</td>'
        yield f"<td>{_text('; '.join(words))}</td></tr>\n"
    yield "</tbody></table>\n"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return escape(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    limits = [
        *([f"at least {schema['minimum']:g}"] if "minimum" in schema else []),
        *([f"at most {schema['maximum']:g}"] if schema.get("maximum", 2**31) < 2**31 else []),
    ]
    return ", ".join([escape(schema.get("type", "any")), *limits])


def _text(text: str) -> str:
    """Plain text in which `code` is marked."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z]+", "-", name.lower()).strip("-")
