"""The section [priority] of gossamer.toml: what it sets, and which values it rejects."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.load import Config, make_config, read_toml
from gossamer.config.policies import ordering_for
from gossamer.config.sections import WeightsSection
from gossamer.errors import ConfigError
from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import DEFAULT_BOUNDS, Mercator
from gossamer.frontier.orderings.score import DEFAULT_WEIGHTS
from gossamer.frontier.orderings.signals import TrustedDomains
from gossamer.model.facts import DomainFacts, UrlFacts
from gossamer.model.units import Url
from tests.table import table

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_defaults_of_the_configuration_are_those_of_the_ordering() -> None:
    config = Config()

    assert config.priority.weights.by_signal == dict(DEFAULT_WEIGHTS)
    assert config.priority.bounds == DEFAULT_BOUNDS


def test_wikipedia_and_news_are_trusted_unless_a_list_says_otherwise() -> None:
    article = UrlFacts(1, Url("https://en.wikipedia.org/wiki/Web_crawler"), 1)

    def trust(given: dict[str, object]) -> float | None:
        ordering = ordering_for(make_config({"priority": given}, {}))
        return ordering.parts(article, DomainFacts(), 0).get("trusted")

    assert {"wikipedia.org", "reuters.com", "bbc.co.uk"} <= set(Config().priority.trusted)
    assert trust({}) == DEFAULT_WEIGHTS["trusted"]
    assert trust({"trusted": ["example.org"]}) == 0.0
    assert trust({"trusted": []}) is None


def test_the_ordering_is_made_as_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "gossamer.toml"
    file.write_text(
        """
        [frontier]
        shares = [50, 30, 15, 5]
        shares-under-load = [80, 10, 5, 5]
        [priority]
        trusted = ["*.gov", "example.org"]
        bounds = [-1, -2.5, -3, -9]
        [priority.weights]
        trusted = 5
        links-from-others = 0
        """
    )

    config = make_config(read_toml(file), {"order": "mercator"})
    ordering, exact = ordering_for(config), ordering_for(config, "best-first")

    assert isinstance(ordering, Mercator) and isinstance(exact, BestFirst)
    assert exact.weights == ordering.weights
    assert ordering.weights == dict(DEFAULT_WEIGHTS) | {"trusted": 5.0, "links_from_others": 0.0}
    assert ordering.bounds == (-1.0, -2.5, -3.0, -9.0)
    assert ordering.trusted.of_host("nasa.gov") and exact.trusted.of_host("www.example.org")
    assert not ordering.trusted.of_host("en.wikipedia.org")


@table(
    ("priority", "message"),
    [
        ({"weights": {"beauty": 1.0}}, "priority.weights.beauty: no such key"),
        ({"weights": {"nesting": -1.0}}, "priority.weights.nesting: must be a number of at least 0, not -1.0"),
        ({"weights": {"depth": float("inf")}}, "priority.weights.depth: must be a number of at least 0, not inf"),
        ({"weights": {"depth": float("nan")}}, "priority.weights.depth: must be a number of at least 0, not nan"),
        ({"weights": {"links": "many"}}, "priority.weights.links: Expected float, got str"),
        ({"weights": dict.fromkeys(DEFAULT_WEIGHTS, 0.0)}, "priority.weights: must not all be 0"),
        ({"trusted": ["a.*.b"]}, "priority.trusted: must be domains and patterns"),
        ({"bounds": [0.1, 0.3]}, "priority.bounds: must be numbers in descending order"),
        ({"bounds": [0.3]}, "priority.bounds: must have at least one value fewer than frontier.shares"),
        ({"classes": 3}, "priority.classes: no such key"),
    ],
)
def test_what_is_impossible_is_refused_by_name(priority: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_config({"order": "mercator", "priority": priority}, {})


def test_shares_for_another_number_of_classes_under_load_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"frontier\.shares_under_load"):
        make_config({"frontier": {"shares": [60, 40]}}, {})


def test_other_orderings_ignore_bounds() -> None:
    assert make_config({"order": "importance", "priority": {"bounds": [0.5]}}, {}).priority.bounds == (0.5,)


@given(pattern=st.text("abc*.-ZÄ ", max_size=6))
def test_configuration_and_ordering_agree_on_what_a_pattern_is(pattern: str) -> None:
    def accepted(ask: object) -> bool:
        assert callable(ask)
        try:
            ask()
        except (ConfigError, ValueError):
            return False
        return True

    wished = accepted(lambda: make_config({"priority": {"trusted": [pattern]}}, {}))

    assert wished == accepted(lambda: TrustedDomains([pattern]))


def test_every_term_is_documented_with_its_default_weight() -> None:
    text = (DOCS / "PRIORITY.md").read_text(encoding="utf-8")

    for name, weight in WeightsSection().by_signal.items():
        assert re.search(rf"^\| `{name}` \| `{weight}` \|", text, re.MULTILINE), name
