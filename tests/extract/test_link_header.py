"""The canonical address in the head of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.crawl_page import canonical_in_header
from tests.effort import Cost, by_cost, growth
from tests.table import table


@table(
    ("value", "expected"),
    [
        ('<https://a.test/paper>; rel="canonical"', "https://a.test/paper"),
        ("</paper>; rel=canonical", "/paper"),
        ("</paper>;REL=Canonical", "/paper"),
        ('</paper>; title="a, \\"b\\"; rel=x"; rel="prev Canonical"', "/paper"),
        ('</a>; rel=next, </b?x=1,2>; rel="canonical", </c>; rel=canonical', "/b?x=1,2"),
        ("</a>; rel=next; rel=canonical", None),
        ('</a>; rel=canonical; anchor="/other"', None),
        ("</a>", None),
        ("<>; rel=canonical", None),
        ("/a; rel=canonical", None),
        ("</a; rel=canonical", None),
        ("</a>; rel", None),
        ("", None),
    ],
)
def test_the_first_canonical_link_of_this_document_is_found(value: str, expected: str | None) -> None:
    assert canonical_in_header(value) == expected


@given(st.text('<>;,="\\ relcanoi/', max_size=60) | st.text(max_size=60))
def test_any_header_is_read_without_a_fault(value: str) -> None:
    found = canonical_in_header(value)

    assert found is None or found in value


@by_cost
@pytest.mark.parametrize("part", ["<", "<a>", ";", '; x="', "<a>;", "\\", "; a=b", " "])
def test_the_work_is_linear(part: str, cost: Cost) -> None:
    assert growth(cost, lambda times: canonical_in_header("<a>" + part * times), 4_000) < 25
