"""The tree that pages are read from, against the cases of html5lib and WPT."""

import json
from typing import Any

import pytest
from turbohtml import CData, Comment, Doctype, Document, Element, Namespace, Node, ProcessingInstruction, Text

from gossamer.extract.tree import page_tree
from tests.conformance import shared_data

pytestmark = pytest.mark.library

_ALL = json.loads(shared_data("conformance/html/tree-construction.json").read_text())["cases"]

# What does not concern us: fragments are made by scripts, and we run none; templates are taken out of the tree.
_OURS = [
    case
    for case in _ALL
    if "fragment_context" not in case and case.get("scripting") is not True and "<template" not in case["document"]
]
_PREFIXES = {Namespace.HTML: "", Namespace.SVG: "svg ", Namespace.MATHML: "math "}
_XLINK = {f"xlink:{name}" for name in ("actuate", "arcrole", "href", "role", "show", "title", "type")}
_WITH_NAMESPACE = _XLINK | {"xml:lang", "xml:space", "xmlns:xlink"}


def dump(node: Node, depth: int, lines: list[str]) -> None:
    indent = "| " + "  " * depth
    if isinstance(node, Element):
        lines.append(f"{indent}<{_PREFIXES[node.namespace]}{node.tag}>")
        lines += sorted(attribute_lines(node, indent))
    elif isinstance(node, Text | CData):
        lines.append(f'{indent}"{node.data}"')
    elif isinstance(node, Comment):
        lines.append(f"{indent}<!-- {node.data} -->")
    elif isinstance(node, ProcessingInstruction):
        lines.append(f"{indent}<?{node.target} {node.data}?>")
    elif isinstance(node, Doctype):
        ids = "" if not (node.public_id or node.system_id) else f' "{node.public_id or ""}" "{node.system_id or ""}"'
        lines.append(f"{indent}<!DOCTYPE {node.name}{ids}>")
    for child in node.children:
        dump(child, depth if isinstance(node, Document) else depth + 1, lines)


def attribute_lines(element: Element, indent: str) -> list[str]:
    lines = []
    for name in element.attrs:
        parted = element.namespace is not Namespace.HTML and name in _WITH_NAMESPACE
        lines.append(f'{indent}  {name.replace(":", " ") if parted else name}="{element.attr(name) or ""}"')
    return lines


def test_almost_all_cases_concern_us() -> None:
    assert len(_OURS) > 0.8 * len(_ALL)


@pytest.mark.parametrize("case", _OURS, ids=lambda case: f"{case['file']}-{case['index']}")
def test_a_page_becomes_the_tree_of_the_standard(case: dict[str, Any]) -> None:
    tree, _encoding, _sound = page_tree(case["data"].encode("utf-8", "surrogatepass"), "text/html; charset=utf-8")

    lines: list[str] = []
    dump(tree, 0, lines)
    assert "\n".join(lines) == case["document"]
