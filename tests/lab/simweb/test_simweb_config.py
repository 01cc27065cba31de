"""What a web's configuration may be."""

import pytest

from gossamer.errors import ConfigError
from gossamer.lab.simweb.config import PRESET_NAMES, SimWebConfig, from_json, preset, to_json
from tests.table import table


@table(
    ("field", "value"),
    [
        ("hosts", 0),
        ("pages", 3),
        ("mean_bytes", 5),
        ("fault_rate", 1.5),
        ("slow_hosts", -0.1),
        ("external_links", 2.0),
        ("port", 70_000),
        ("zone", "no dots or blanks"),
        ("nav_links", 200),
        ("max_host_pages", 5),
        ("disallowed_rate", 0.9),
        ("shared_address_hosts", 0.99),
    ],
)
def test_an_impossible_value_is_refused_by_the_name_of_its_field(field: str, value: float | str) -> None:
    with pytest.raises(ConfigError) as refused:
        SimWebConfig(**{field: value})  # type: ignore[arg-type]

    assert refused.value.key == field


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_every_preset_survives_the_way_through_json(name: str) -> None:
    config = preset(name, seed=7)

    assert from_json(to_json(config)) == config


def test_a_preset_takes_overrides() -> None:
    config = preset("demo", seed=9, pages=1234)

    assert (config.seed, config.pages, config.hosts) == (9, 1234, 150)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ConfigError, match="nonesuch"):
        preset("nonesuch")


def test_an_unknown_setting_of_a_preset_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as refused:
        preset("demo", colour="blue")

    assert refused.value.key == "colour"


def test_a_value_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ConfigError, match="pages"):
        preset("demo", pages="many")
