"""Planted near-duplicates: the same whenever they are made, different from their original in what they should be."""

import re

import pytest

from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.hosts import path_of
from gossamer.lab.simweb.page import VARIATIONS, Variation, near_copy
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant

PAGE = (
    b"<html><body><nav>\n"
    + b"\n".join(b'<a href="/%d">link %d</a>' % (n, n) for n in range(9))
    + b"\n</nav>\n<h1>Title</h1>\n<p>one two three four five six seven</p>\n<p>eight nine ten</p>\n</body></html>"
)


def words(page: bytes) -> list[str]:
    return re.sub(rb"<[^>]*>", b" ", page).decode().split()


@pytest.mark.parametrize("variation", [*VARIATIONS, None])
def test_a_variant_is_the_same_whenever_it_is_made(variation: Variation | None) -> None:
    assert near_copy(PAGE, 1, 5, variation) == near_copy(PAGE, 1, 5, variation)


@pytest.mark.parametrize("variation", VARIATIONS)
def test_every_variant_differs_from_its_original_and_has_its_links(variation: Variation) -> None:
    for group in range(20):
        original, varied = near_copy(PAGE, 1, group, None), near_copy(PAGE, 1, group, variation)

        assert varied != original
        assert sorted(re.findall(rb'href="[^"]*"', varied)) == sorted(re.findall(rb'href="[^"]*"', original))


@pytest.mark.parametrize("variation", [Variation.ONE_BYTE, Variation.ONE_WORD])
def test_an_edit_changes_a_single_word(variation: Variation) -> None:
    original, varied = words(near_copy(PAGE, 1, 3, None)), words(near_copy(PAGE, 1, 3, variation))

    assert sum(a != b for a, b in zip(original, varied, strict=True)) == 1


def test_reordering_the_navigation_changes_the_order_of_words_only() -> None:
    original, varied = words(near_copy(PAGE, 1, 3, None)), words(near_copy(PAGE, 1, 3, Variation.NAVIGATION))

    assert sorted(original) == sorted(varied)


def test_duplicates_are_near_ones_only_where_that_is_asked_for() -> None:
    exact, near = (SimWeb(preset("demo", pages=600, hosts=20, near_copies=near)) for near in (False, True))
    truth, near_truth = ground_truth(exact), ground_truth(near)

    assert truth.duplicate_groups == near_truth.duplicate_groups
    assert near_truth.documents == truth.documents + sum(len(g) - 1 for g in truth.duplicate_groups)
    for web, different in ((exact, False), (near, True)):
        for group in range(5):
            members = web.graph.duplicate_members(group)
            shown = {web.respond(host.name, path_of(host, page), Instant(1_000.0)).body for host, page in members}
            assert len(shown) == (len(members) if different else 1)
