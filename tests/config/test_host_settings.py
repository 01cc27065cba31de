"""Settings of single hosts: from the configuration, and as an operator changes them during a crawl."""

from dataclasses import replace

from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.config.load import Config
from gossamer.config.overrides import HostOverride, HostOverrides, Limits, Overrides, limits_of
from gossamer.extract.content_types import Kinds
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.filter.host_table import host_table
from gossamer.model.units import HostKey, Seconds

A, B = HostKey("a.test"), HostKey("b.test")
WWW = HostKey("www.a.test")
USUAL = HostSettings(min_delay=Seconds(1.0))
SINGLE = HostSettings(min_delay=Seconds(7.0))
STAR = HostKey("*0")


def delayed(host: HostKey, delay: float) -> HostOverrides:
    return HostOverrides(delays={host: Seconds(delay)})


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
    hosts = HostSettingsTable(USUAL, host_table({"a.test": configured}, "host"), delayed(A, 3.0))

    assert hosts.for_host(A) == replace(configured, min_delay=Seconds(3.0))
    assert hosts.for_host(B) == USUAL


def test_an_ordered_delay_holds_for_a_host_without_settings() -> None:
    hosts = HostSettingsTable(USUAL, overrides=delayed(B, 3.0))

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


def test_a_paused_host_is_paused_until_it_is_resumed() -> None:
    overrides = HostOverrides()
    assert not overrides.for_host(A)

    overrides.pause(A)
    assert overrides.for_host(A) == HostOverride(paused=True)
    assert not overrides.for_host(B)

    assert overrides.resume(A) is False
    assert not overrides.for_host(A)


def test_resuming_a_dropped_host_says_that_its_urls_are_to_be_given_back() -> None:
    overrides = HostOverrides()
    overrides.drop(A)
    assert overrides.for_host(A).dropped

    assert overrides.resume(A) is True
    assert overrides.resume(A) is False
    assert not overrides.for_host(A)


def test_a_dropped_host_is_no_longer_paused() -> None:
    overrides = HostOverrides()
    overrides.pause(A)

    overrides.drop(A)

    assert overrides.for_host(A) == HostOverride(dropped=True)


def test_an_override_of_the_delay_outlasts_changed_settings_and_ends_when_it_is_lifted() -> None:
    hosts = HostSettingsTable(HostSettings(min_delay=None))
    hosts.overrides.set_delay(A, Seconds(5.0))

    hosts.replace_with(HostSettingsTable(HostSettings(min_delay=Seconds(1.0))))
    assert (hosts.for_host(A).min_delay, hosts.for_host(B).min_delay) == (5.0, 1.0)

    hosts.overrides.set_delay(A, None)
    assert hosts.for_host(A).min_delay == 1.0


def test_overrides_are_stored_with_the_crawl() -> None:
    limits = Limits(("b.test",), 3, 400)
    kept = Overrides(limits, True, HostOverrides({A}, {B}, {A: Seconds(5.0), STAR: Seconds(2.0)}))

    assert Overrides.from_text(kept.to_text()) == kept
    assert Overrides.from_text(None) == Overrides()


def test_limits_replace_those_of_the_configuration_and_nothing_else() -> None:
    config, limits = Config(), Limits(("b.test",), 3, 400)

    changed = Overrides(limits, hosts=delayed(A, 5.0)).apply_limits(config)

    assert limits_of(changed) == limits
    assert Overrides(limits_of(config)).apply_limits(changed) == config
    assert Overrides().apply_limits(config) is config
