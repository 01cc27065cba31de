"""The canonical address in the head of an answer."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.link_header import canonical_in_header


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("part", ["<", "<a>", ";", '; x="', "<a>;", "\\", "; a=b", " "])
def test_the_work_is_linear(part: str) -> None:
    def cpu(times: int) -> float:
        value, best = "<a>" + part * times, 9.0
        for _ in range(3):
            began = time.process_time()
            canonical_in_header(value)
            best = min(best, time.process_time() - began)
        return best

    assert cpu(40_000) < 50 * cpu(4_000) + 0.05
