"""What was ordered for single hosts, as the crawl takes it up again."""

from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.crawl.visit.host_overrides import PAUSED_LOOK, HostControls
from gossamer.model.units import HostId, HostKey, Instant, Seconds
from gossamer.service.overrides import Overrides

A, B, STAR = HostKey("a.test"), HostKey("b.test"), HostKey("*0")


def test_the_crawl_takes_up_what_the_service_has_kept() -> None:
    kept = Overrides(paused_hosts={A}, dropped_hosts={B}, delays={A: 5.0, STAR: 2.0})
    controls = HostControls()

    controls.restore(kept.to_text())

    assert (controls.paused, controls.dropped, controls.delays) == ({A}, {B}, {A: 5.0, STAR: 2.0})


def test_where_nothing_was_kept_nothing_is_ordered() -> None:
    controls = HostControls()

    controls.restore(None)

    assert not controls and not controls.delays


def test_an_override_of_the_delay_outlasts_changed_settings_and_concerns_no_other_host() -> None:
    hosts = HostSettingsTable(HostSettings(min_delay=None), delays={A: Seconds(5.0)})

    hosts.replace_with(HostSettingsTable(HostSettings(min_delay=Seconds(1.0))))

    assert (hosts.for_host(A).min_delay, hosts.for_host(B).min_delay) == (5.0, 1.0)


def test_a_host_counts_as_held_back_while_it_has_its_turns() -> None:
    controls = HostControls()
    controls.hold(HostId(1), Instant(0.0))
    controls.hold(HostId(2), Instant(PAUSED_LOOK))

    assert controls.held(Instant(PAUSED_LOOK)) == 2
    assert controls.held(Instant(2 * PAUSED_LOOK)) == 1
