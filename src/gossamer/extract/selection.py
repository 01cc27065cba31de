"""What users of the library take from a page: parts of it (`Selection`), and the data that it has for programs:
JSON-LD, Open Graph, microdata, and its forms.

A `Selection` is found by CSS selectors and XPath expressions, and behaves like parsel's selectors. The parser's CSS
engine does the matching. What it lacks of parsel is added here: the pseudo-elements `::text` and `::attr(name)`, and
searches within an element, which parsel begins at the element itself.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from re import Pattern
from typing import NamedTuple, TypeAlias, overload

from turbohtml import Document, Element, Formatter, Html, Node, SelectorSyntaxError, Text, parse

from gossamer.errors import SelectorError

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


_Match = Node | str
"""A node, or the value of a text node, an attribute or an XPath function."""

Variable = str | float | bool | Element
"""The value of a variable in an XPath expression."""

_PLAIN = Html(formatter=Formatter.MINIMAL)  # only <, > and & as entities


class Selection(Sequence["Selection"]):
    """The matches of a selector in document order: a sequence of selections with one match each. False if there is no
    match. What asks for one value (`get`, `attrib`, `text`, `html`, `element`) answers for the first match."""

    __slots__ = ("_found",)

    def __init__(self, found: Iterable[_Match]) -> None:
        self._found = tuple(found)

    def __repr__(self) -> str:
        values = [_shortened(_value(match)) for match in self._found[:3]]
        more = ", …" if len(self._found) > 3 else ""
        return f"<Selection of {len(self._found)}: {', '.join(values)}{more}>" if values else "<Selection of 0>"

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> "Selection": ...

    @overload
    def __getitem__(self, index: slice) -> "Selection": ...

    def __getitem__(self, index: int | slice) -> "Selection":
        return Selection(self._found[index] if isinstance(index, slice) else (self._found[index],))

    def __iter__(self) -> Iterator["Selection"]:
        return (Selection((match,)) for match in self._found)

    def css(self, selector: str) -> "Selection":
        """The matches of a CSS selector in each of these elements, the element itself included. `::text` stands for the
        text nodes of an element and `::attr(name)` for an attribute. Raises SelectorError."""
        parts = _compiled(selector)
        return Selection(
            found for match in self._found if not isinstance(match, str) for found in _select(match, parts)
        )

    def xpath(self, expression: str, /, **variables: Variable) -> "Selection":
        """The results of an XPath expression for each of these elements. Raises SelectorError."""
        return Selection(
            found
            for match in self._found
            if not isinstance(match, str)
            for found in _evaluate(match, expression, variables)
        )

    @overload
    def get(self, default: None = None) -> str | None: ...

    @overload
    def get(self, default: str) -> str: ...

    def get(self, default: str | None = None) -> str | None:
        """The first match as a string, an element as HTML; `default` if there is none."""
        return _value(self._found[0]) if self._found else default

    def getall(self) -> list[str]:
        """All matches as strings, elements as HTML."""
        return [_value(match) for match in self._found]

    def re(self, pattern: str | Pattern[str], *, replace_entities: bool = True) -> list[str]:
        """What a regular expression finds in the matches as strings: the group named `extract` of the first find in
        each, or else all groups of all finds, or without groups the whole finds. Entities are replaced, except for
        `&lt;` and `&amp;`."""
        compiled = _compiled_pattern(pattern)
        return [found for match in self._found for found in _finds(compiled, _value(match), replace_entities)]

    @overload
    def re_first(self, pattern: str | Pattern[str], default: None = None) -> str | None: ...

    @overload
    def re_first(self, pattern: str | Pattern[str], default: str) -> str: ...

    def re_first(self, pattern: str | Pattern[str], default: str | None = None) -> str | None:
        """The first result of `re`; `default` if there is none."""
        compiled = _compiled_pattern(pattern)
        for match in self._found:
            for found in _finds(compiled, _value(match), replace_entities=True):
                return found
        return default

    @property
    def element(self) -> Element | None:
        """The first match if it is an element."""
        first = self._found[0] if self._found else None
        return first if isinstance(first, Element) else None

    @property
    def attrib(self) -> Mapping[str, str]:
        """The attributes of the first match; empty if there is none."""
        element = self.element
        return {} if element is None else _attributes(element)

    @property
    def text(self) -> str:
        """All text in the first match; empty if there is none."""
        if not self._found:
            return ""
        first = self._found[0]
        return first if isinstance(first, str) else first.text

    @property
    def html(self) -> str:
        """The first match as HTML; empty if there is none."""
        return self.get("")


def _value(match: _Match) -> str:
    return match if isinstance(match, str) else match.serialize(_PLAIN)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _attributes(element: Element) -> dict[str, str]:
    # As written: the values of `attrs` are split into words where they may hold several.
    return {name: element.attr(name) or "" for name in element.attrs}


_KEPT = re.compile(r"&(?:lt|amp|#0*60|#0*38|#[xX]0*3[cC]|#[xX]0*26);?")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});?")


def _compiled_pattern(pattern: str | Pattern[str]) -> Pattern[str]:
    return re.compile(pattern) if isinstance(pattern, str) else pattern


def _finds(pattern: Pattern[str], text: str, replace_entities: bool) -> list[str]:
    if "extract" in pattern.groupindex:
        first = pattern.search(text)
        found = [] if first is None or first["extract"] is None else [first["extract"]]
    else:
        found = [part for parts in pattern.findall(text) for part in (parts if isinstance(parts, tuple) else (parts,))]
    return [_REFERENCE.sub(_replaced, each) for each in found] if replace_entities else found


def _replaced(found: re.Match[str]) -> str:
    return found[0] if _KEPT.fullmatch(found[0]) else unescape(found[0])


# --- XPath -----------------------------------------------------------------------------------------------


def _evaluate(node: Node, expression: str, variables: Mapping[str, Variable]) -> list[_Match]:
    """The results of an XPath expression: nodes and strings. A number, a truth value (1 or 0) or a string is the only
    result. Raises SelectorError."""
    try:
        found = node.xpath(
            expression, namespaces=None, smart_strings=False, extensions={(None, "has-class"): _has_class}, **variables
        )
    except (ValueError, TypeError) as error:
        raise SelectorError("XPath expression", expression, str(error).removeprefix("xpath: ")) from None
    if isinstance(found, list):
        return list(found)
    if isinstance(found, bool):
        return ["1" if found else "0"]
    return [str(found)]


def _has_class(context: object, *names: str) -> bool:
    """parsel's function `has-class`."""
    element = getattr(context, "context_node", None)
    return isinstance(element, Element) and all(element.has_class(str(name)) for name in names)


# --- CSS -------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """One of the selectors in a list, compiled."""

    of_page: str  # to be used from the root
    within: str  # to be used from an element: its matches are inside that element completely
    pseudo: str | None  # None: the elements; "": their text nodes; else the attribute of this name


def _select(node: Node, parts: tuple[_Part, ...]) -> list[_Match]:
    """The matches in a node, and the node itself if it matches."""
    by_pseudo: dict[str | None, list[_Part]] = {}
    for part in parts:
        by_pseudo.setdefault(part.pseudo, []).append(part)
    if len(by_pseudo) == 1:
        [(pseudo, same)] = by_pseudo.items()
        return _apply(pseudo, _elements(node, same))
    return _merged(node, {pseudo: _elements(node, same) for pseudo, same in by_pseudo.items()})


def _elements(node: Node, parts: list[_Part]) -> list[Element]:
    """In document order."""
    if not isinstance(node, Element):
        return node.select(", ".join(part.of_page for part in parts))
    selector = ", ".join(part.within for part in parts)
    found = node.select(selector)
    return [node, *found] if node.matches(selector) else found


def _apply(pseudo: str | None, elements: list[Element]) -> list[_Match]:
    if pseudo is None:
        return list(elements)
    if pseudo:
        return [value for element in elements if (value := element.attr(pseudo)) is not None]
    return [text.data for text in _texts(elements)]


def _texts(elements: list[Element]) -> Iterator[Text]:
    """The text nodes directly in these elements, in document order."""
    chosen = set(elements)
    inside: set[Element] = set()  # of one that was walked through already
    for element in elements:
        if element in inside:
            continue
        nested = [child for child in element.iter_elements() if child in chosen] if len(chosen) > 1 else []
        if not nested:
            yield from (child for child in element.children if isinstance(child, Text))
            continue
        inside.update(nested)
        for node in element.descendants:
            if isinstance(node, Text) and node.parent in chosen:
                yield node


def _merged(node: Node, found: Mapping[str | None, list[Element]]) -> list[_Match]:
    """Elements, texts and attributes together, in document order."""
    chosen = {pseudo: set(elements) for pseudo, elements in found.items()}
    matches: list[_Match] = []
    for each in (node, *node.descendants):
        if isinstance(each, Text):
            if each.parent in chosen.get("", ()):
                matches.append(each.data)
        elif isinstance(each, Element):
            if each in chosen.get(None, ()):
                matches.append(each)
            matches += [value for name, value in _attributes(each).items() if each in chosen.get(name, ())]
    return matches


_TOKEN = re.compile(r"""\\.|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|::|.""", re.DOTALL)
_PSEUDO = re.compile(r"::(?:(text)(?![\w(-])|attr\(\s*([^\s()]+)\s*\)|([\w-]*))")
_COMBINATORS = frozenset(" \t\n\r\f>+~")
_UNIVERSAL_LAST = re.compile(r"(.*[^\s>+~])\s+\*", re.DOTALL)
_EMPTY = parse("", positions=False)


@lru_cache(256)
def _compiled(selector: str) -> tuple[_Part, ...]:
    """The selectors of a list. Raises SelectorError, with the position in the list as it was given."""
    pieces = list(_pieces(selector))
    try:
        _EMPTY.select(",".join(piece for piece, _, _ in pieces))
    except SelectorSyntaxError as error:
        raise SelectorError("CSS selector", selector, str(error).rpartition('": ')[2]) from None
    return tuple(part for piece in pieces for part in _parts(*piece))


def _pieces(selector: str) -> Iterator[tuple[str, int, str | None]]:
    """Each selector of a list with spaces for its pseudo-element, so that positions stay; where its first compound
    selector ends; and the pseudo-element."""
    text, compound, pseudo, depth, at = "", 0, None, 0, 0
    while at < len(selector):
        token = _TOKEN.match(selector, at)
        assert token is not None, "the expression matches any character"
        word = token[0]
        if depth == 0 and word == ",":
            yield text, compound or len(text), pseudo
            text, compound, pseudo = "", 0, None
        elif depth == 0 and word == "::" and pseudo is None:
            word, pseudo = _pseudo_element(selector, at)
            text += ("*" if not text or text[-1] in _COMBINATORS else " ").ljust(len(word))
        elif pseudo is not None and not word.isspace():
            raise SelectorError(
                "CSS selector", selector, f"unexpected {word!r} after ::text or ::attr() at position {at}"
            )
        else:
            depth = max(depth + (word in "([") - (word in ")]"), 0)
            if depth == 0 and not compound and text.strip() and word in _COMBINATORS:
                compound = len(text)
            text += word
        at += len(word)
    yield text, compound or len(text), pseudo


def _pseudo_element(selector: str, at: int) -> tuple[str, str]:
    """As written, and the name of the attribute; empty for `::text`."""
    found = _PSEUDO.match(selector, at)
    assert found is not None, "the expression matches :: alone"
    if found[3] is not None:
        problem = f"unknown pseudo-element ::{found[3]} at position {at}; there are ::text and ::attr(name)"
        raise SelectorError("CSS selector", selector, problem)
    return found[0], found[2] or ""


def _parts(text: str, compound: int, pseudo: str | None) -> Iterator[_Part]:
    # As in parsel, `p ::text` is the text in p too, and not only in the elements inside it.
    outer = _UNIVERSAL_LAST.fullmatch(text.rstrip()) if pseudo is not None else None
    for each in (text,) if outer is None else (outer[1], text):
        rest = each[compound:]
        within = f"{each[:compound]}:is(:scope, :scope *){rest}" if rest.strip() else each
        yield _Part(each, within, pseudo)
