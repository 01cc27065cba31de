"""Which address of a host is dialled, with time as a parameter."""

import pytest

from gossamer.fetch.dns.address_choice import AddressChoice, DialRules
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.model.units import Instant, Seconds

START = Instant(1000.0)
ONE, TWO, THREE = "8.8.8.1", "8.8.8.2", "8.8.8.3"


def found(*addresses: str) -> Addresses:
    return Addresses(addresses, Instant(START + 60.0))


def after(seconds: float) -> Instant:
    return Instant(START + seconds)


@pytest.fixture
def dialling() -> AddressChoice:
    return AddressChoice(AddressPolicy().may_dial)


def test_the_first_address_is_dialled(dialling: AddressChoice) -> None:
    assert dialling.choose(found(ONE, TWO), None, START) == ONE


def test_the_last_one_is_kept_while_it_is_the_hosts(dialling: AddressChoice) -> None:
    assert dialling.choose(found(ONE, TWO), TWO, START) == TWO
    assert dialling.choose(found(ONE, TWO), THREE, START) == ONE


def test_addresses_out_of_bounds_are_never_chosen(dialling: AddressChoice) -> None:
    assert dialling.choose(found("127.0.0.1", ONE), "127.0.0.1", START) == ONE
    assert dialling.choose(found("127.0.0.1", "10.0.0.1"), "127.0.0.1", START) is None


def test_an_address_that_was_not_reached_is_avoided_for_a_minute(dialling: AddressChoice) -> None:
    dialling.on_unreachable(ONE, START)

    assert dialling.choose(found(ONE, TWO), ONE, after(59.9)) == TWO
    assert dialling.choose(found(ONE, TWO), None, after(60.0)) == ONE


def test_an_address_that_answers_again_is_back_at_once(dialling: AddressChoice) -> None:
    dialling.on_unreachable(ONE, START)

    dialling.on_reached(ONE)

    assert dialling.choose(found(ONE, TWO), None, after(1.0)) == ONE


def test_when_none_was_reached_the_one_that_has_rested_longest_is_dialled(dialling: AddressChoice) -> None:
    dialling.on_unreachable(TWO, START)
    dialling.on_unreachable(ONE, after(1.0))

    assert dialling.choose(found(ONE, TWO), ONE, after(2.0)) == TWO


def test_patience_is_short_only_while_another_address_is_in_hand(dialling: AddressChoice) -> None:
    assert dialling.connect_timeout(found(ONE), ONE, START) is None
    assert dialling.connect_timeout(found(ONE, "127.0.0.1"), ONE, START) is None
    assert dialling.connect_timeout(found(ONE, TWO), ONE, START) == 1.0
    dialling.on_unreachable(TWO, START)
    assert dialling.connect_timeout(found(ONE, TWO), ONE, after(1.0)) is None


def test_the_memory_of_dead_addresses_is_bounded() -> None:
    dialling = AddressChoice(AddressPolicy().may_dial, DialRules(avoid_for=Seconds(60.0), max_remembered=10))

    for number in range(200):
        dialling.on_unreachable(f"8.8.8.{number}", START)

    assert len(dialling) == 10
    assert dialling.choose(found("8.8.8.0", "8.8.8.199"), None, after(1.0)) == "8.8.8.0"
