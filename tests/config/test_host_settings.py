"""Settings of single hosts: from the configuration, and as an operator changes them during a crawl."""

import json
from dataclasses import replace

import pytest

from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.crawl.visit.host_overrides import HostControls, is_paused
from gossamer.extract.content_types import Kinds
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.filter.host_table import host_table
from gossamer.model.facts import HostOverride
from gossamer.model.units import HostKey, Seconds

A, B = HostKey("a.test"), HostKey("b.test")
WWW = HostKey("www.a.test")
USUAL = HostSettings(min_delay=Seconds(1.0))
SINGLE = HostSettings(min_delay=Seconds(7.0))


# --- the configuration -----------------------------------------------------------------------------


def test_a_host_without_settings_of_its_own_has_the_usual_ones() -> None:
    hosts = HostSettingsTable(USUAL, host_table({"a.test": SINGLE}, "host"))

    assert hosts.for_host(A) == SINGLE
    assert hosts.for_host(B) == USUAL


def test_settings_may_be_those_of_all_hosts_of_a_domain() -> None:
    hosts = HostSettingsTable(USUAL, host_table({"*.a.test": SINGLE}, "host"))

    assert hosts.for_host(WWW) == SINGLE
    assert hosts.for_host(A) == USUAL


def test_without_any_settings_a_host_has_the_defaults() -> None:
    found = HostSettingsTable().for_host(A)

    assert (found.options, found.min_delay, found.wants, found.proxied) == (HostOptions(), None, None, False)


def test_an_ordered_delay_replaces_the_configured_one_and_nothing_else() -> None:
    configured = HostSettings(HostOptions(headers=(("X-Team", "search"),)), Seconds(7.0))
    hosts = HostSettingsTable(USUAL, host_table({"a.test": configured}, "host"), {A: Seconds(3.0)})

    assert hosts.for_host(A) == replace(configured, min_delay=Seconds(3.0))
    assert hosts.for_host(B) == USUAL


def test_an_ordered_delay_holds_for_a_host_without_settings() -> None:
    hosts = HostSettingsTable(USUAL, delays={B: Seconds(3.0)})

    assert (hosts.for_host(B).min_delay, hosts.for_host(A).min_delay) == (3.0, 1.0)


def test_changed_settings_hold_from_the_next_request_on() -> None:
    hosts = HostSettingsTable(USUAL, host_table({"a.test": SINGLE}, "host"))

    hosts.replace_with(HostSettingsTable(HostSettings(min_delay=Seconds(2.0)), host_table({"b.test": SINGLE}, "host")))

    assert (hosts.for_host(A).min_delay, hosts.for_host(B).min_delay) == (2.0, 7.0)


def test_a_host_of_which_everything_is_wanted_needs_no_test_of_its_answers() -> None:
    assert HostSettings().wants is None
    assert HostSettings(kinds=Kinds(["any"])).wants is None


def test_a_host_of_which_some_types_are_wanted_has_its_answers_tested() -> None:
    wants = HostSettings(kinds=Kinds(["html"])).wants

    assert wants is not None
    assert wants.judge_head(200, {"content-type": "text/html"})
    assert wants.judge_head(200, {"content-type": "image/png"}) is False


def test_a_host_with_a_proxy_is_proxied() -> None:
    proxy = Proxy.parse("http://proxy.test:3128")

    assert HostSettings(HostOptions(proxy=proxy)).proxied
    assert not HostSettings().proxied


# --- the operator ----------------------------------------------------------------------------------


def test_without_orders_there_is_nothing_to_look_at() -> None:
    controls = HostControls()

    assert not controls
    assert controls.ordered_for(A) == HostOverride()


def test_a_paused_host_is_paused_until_it_is_resumed() -> None:
    controls = HostControls()
    controls.pause(A)
    assert controls
    assert controls.ordered_for(A).paused
    assert not controls.ordered_for(B).paused

    assert controls.resume(A) is False
    assert not controls


def test_resuming_a_dropped_host_says_that_its_urls_are_to_be_given_back() -> None:
    controls = HostControls()
    controls.drop(A)
    assert controls
    assert controls.ordered_for(A).dropped

    assert controls.resume(A) is True
    assert controls.resume(A) is False
    assert not controls


def test_a_dropped_host_is_no_longer_paused() -> None:
    controls = HostControls()
    controls.pause(A)

    controls.drop(A)

    assert controls.ordered_for(A) == HostOverride(dropped=True)


def test_a_delay_alone_holds_no_visit_back() -> None:
    controls = HostControls()
    controls.restore(json.dumps({"paused_hosts": [], "dropped_hosts": [], "delays": {"a.test": 4.0}}))

    assert not controls
    assert controls.ordered_for(A) == HostOverride(delay=Seconds(4.0))


@pytest.mark.parametrize(("text", "paused"), [(None, False), ('{"paused": true}', True), ('{"paused": false}', False)])
def test_whether_the_crawl_was_paused_is_on_record(text: str | None, paused: bool) -> None:
    assert is_paused(text) is paused
