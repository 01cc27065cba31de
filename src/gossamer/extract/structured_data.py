"""Data that a page has for programs: JSON-LD, Open Graph, microdata, and its forms."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from turbohtml import Document, Element

JSON: TypeAlias = Mapping[str, "JSON"] | Sequence["JSON"] | str | int | float | bool | None
"""A value of JSON."""


def opengraph_of(tree: Document, url: str) -> dict[str, str]:
    """The Open Graph properties without `og:`, URLs absolute."""
    return {str(name): str(value) for name, value in dict(tree.opengraph(url)).items()}


def microdata_of(tree: Document, url: str) -> list[JSON]:
    """The top-level items, in the JSON form of the HTML standard, URLs absolute."""
    return [json.loads(item.json()) for item in tree.microdata(url)]


@dataclass(frozen=True, slots=True)
class Form:
    """A form as its page presents it."""

    action: str  # where it is sent, as an absolute URL if the page's is a web address
    method: str  # `get`, `post` or `dialog`
    enctype: str  # how a `post` is encoded
    fields: tuple[tuple[str, str], ...]
    """Names and values of what would be sent, in order, without buttons and files."""
    element: Element

    def __repr__(self) -> str:
        return f"<Form {self.method} {self.action}: {', '.join(name for name, _ in self.fields) or 'no fields'}>"


_METHODS = ("get", "post", "dialog")
_ENCODINGS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")


def form_in(element: Element, action: str) -> Form:
    """The form of an element. `action` is its absolute address."""
    return Form(
        action,
        _keyword(element.attr("method"), _METHODS),
        _keyword(element.attr("enctype"), _ENCODINGS),
        tuple(element.form_data()),
        element,
    )


def _keyword(written: str | None, known: tuple[str, ...]) -> str:
    """One of the known values, the first by default."""
    value = (written or "").strip().lower()
    return value if value in known else known[0]
