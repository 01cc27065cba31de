"""Reading MIME types: all of the standard's test data, and what several headers mean together."""

import json
from typing import Any

from gossamer.extract.charset import encoding_of_label
from gossamer.extract.mime import declared_type, nosniff, parse_mime_type
from tests.conformance import shared_data
from tests.table import table


def cases(name: str) -> list[dict[str, Any]]:
    found = json.loads(shared_data(f"conformance/http/{name}.json").read_text())
    return [case for case in found if isinstance(case, dict)]


_WRITTEN = cases("mime-types")
_ALL = [*_WRITTEN, *cases("generated-mime-types")]
_SEVERAL = cases("content-types")
_OPTIONS = cases("x-content-type-options")


def test_every_mime_type_of_the_standard_is_read_as_it_says() -> None:
    wrong = []
    for case in _ALL:
        found = parse_mime_type(case["input"])
        if (None if found is None else str(found)) != case["output"]:
            wrong.append((case["input"], case["output"], found))

    assert wrong == []
    assert len(_ALL) == 74 + 881


@table("case", [case for case in _WRITTEN if "encoding" in case])
def test_the_charset_parameter_means_the_encoding_that_the_standard_says(case: dict[str, Any]) -> None:
    found = parse_mime_type(case["input"])
    label = None if found is None else found.charset

    assert (None if label is None else encoding_of_label(label)) == case["encoding"]


@table("case", _SEVERAL)
def test_of_several_headers_the_last_usable_one_counts(case: dict[str, Any]) -> None:
    assert str(declared_type(", ".join(case["contentType"]))) == case["mimeType"]


@table("case", _OPTIONS)
def test_sniffing_is_forbidden_by_the_first_value_only(case: dict[str, Any]) -> None:
    fields = [line.partition(":") for line in case["input"].split("\r\n")]
    values = [value.strip("\t ") for name, _, value in fields if name.lower() == "x-content-type-options"]

    assert nosniff(", ".join(values) if values else None) == case["nosniff"]


@table("header", [None, "", ",", "text", "text/", "/html", "*/*", '"text/html"', "text html/x"])
def test_a_header_without_a_type_declares_nothing(header: str | None) -> None:
    assert declared_type(header) is None


def test_what_is_written_is_read_again_as_the_same() -> None:
    odd = parse_mime_type('Text/HTML ; a="x\\"y\\\\z" ; b=; c="" ;a=2')

    assert odd is not None
    assert str(odd) == 'text/html;a="x\\"y\\\\z";c=""'
    assert parse_mime_type(str(odd)) == odd
