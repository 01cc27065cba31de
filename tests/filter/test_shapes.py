"""Shapes of URLs."""

import pytest

from gossamer.filter.url_shape import Shape, kind_of, shape_of
from tests.table import table

START = len("http://h.test")


def shape(target: str) -> Shape:
    return shape_of(f"http://h.test{target}", START)


@table(
    ("target", "fine", "coarse"),
    [
        ("/", "/", "//*"),
        ("/article/17", "/article/#", "/#+a/*"),
        ("/cal?y=2031&m=5", "/cal?m&y", "/cal?*"),
        ("/cal?m=5&y=2031", "/cal?m&y", "/cal?*"),
        ("/cal/2031/05/", "/cal/#", "/#+a/*"),
        ("/events/2031-05-06", "/events/#", "/#+a/*"),
        ("/s/8f3a9c7712ab34cd99/page", "/s/~+a", "/a+~/*"),
        ("/news/", "/a", "/a/*"),
        ("/news/some-title-17.html", "/news/a#.html", "/a+a#/*"),
        ("/a/b/c/d/e/f", "/a/b/a", "/a/*"),
        ("/index.php?id=3", "/index.php?id", "/index.php?*"),
        ("/?page=3", "/?page", "/?*"),
        ("/x17/9?q=1", "/a#+#?q", "/a#+#?*"),
    ],
)
def test_a_shape_keeps_leading_names_kinds_and_names_of_parameters(target: str, fine: str, coarse: str) -> None:
    assert shape(target) == Shape(fine, coarse)


@pytest.mark.parametrize(
    ("segment", "kind"),
    [("2024", "#"), ("2024-05-17", "#"), ("word", "a"), ("two-words", "a"), ("v2", "a#"), ("ab12cd34ef56ab78", "~")],
)
def test_a_segment_is_of_one_kind(segment: str, kind: str) -> None:
    assert kind_of(segment) == kind


def test_how_deep_a_path_is_makes_no_difference() -> None:
    deep = {shape("/browse/all" + "/word" * levels) for levels in range(1, 15)}

    assert len(deep) == 1


def test_every_word_of_random_paths_has_one_coarse_shape() -> None:
    random_words = [f"/{a}{b}/{b}{a}" for a in ("oak", "elm", "fir") for b in ("sea", "sky", "sun")]

    assert {shape(target).coarse for target in random_words} == {"/a/*"}


def test_a_shape_is_short_whatever_the_url() -> None:
    hostile = shape("/" + "a" * 5000 + "/x?" + "&".join("p" * 90 + str(n) for n in range(90)))

    assert max(map(len, hostile)) <= 320
