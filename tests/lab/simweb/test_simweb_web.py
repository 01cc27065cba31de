"""The web as a function of URL and time."""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator

import pytest

from gossamer.lab.simweb.chance import changes_between, changes_in, version_at
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import Kind, path_of
from gossamer.lab.simweb.web import SimResponse, SimWeb
from gossamer.model.units import Instant

NOW = Instant(1_700_000_000.0)
DAY = 86_400.0


def places(web: SimWeb, *kinds: Kind) -> Iterator[Place]:
    for host in web.hosts:
        for page in range(host.pages):
            if host.kind(page) in kinds:
                yield host, page


def get(web: SimWeb, place: Place, time: Instant = NOW, **headers: str) -> SimResponse:
    host, page = place
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.respond(host.name, path_of(host, page), time, named)


def test_two_instances_give_the_same_answers_in_any_order() -> None:
    config = SimWebConfig(hosts=20, pages=400)
    one, other = SimWeb(config), SimWeb(config)
    all_places = list(places(one, *Kind))

    answers = [get(one, place) for place in all_places]
    again = [get(other, place) for place in reversed(all_places)]

    assert answers == again[::-1]


def test_another_seed_is_another_web() -> None:
    one, other = SimWeb(SimWebConfig(seed=1)), SimWeb(SimWebConfig(seed=2))

    assert [h.name for h in one.hosts] != [h.name for h in other.hosts]
    assert get(one, (one.hosts[0], 0)).body != get(other, (other.hosts[0], 0)).body


def test_pages_are_html_of_two_to_two_hundred_kilobytes_around_the_mean() -> None:
    web = SimWeb(preset("bench", hosts=50, pages=1000))
    sizes = [len(get(web, place).body) for place in places(web, Kind.ORDINARY)]

    assert min(sizes) > 1_500
    assert max(sizes) < 210_000
    assert statistics.fmean(sizes) == pytest.approx(25_000, rel=0.1)
    assert statistics.median(sizes) < statistics.fmean(sizes)


def test_the_pages_of_the_small_preset_are_two_to_three_kilobytes() -> None:
    web = SimWeb(preset("small", hosts=100, pages=1000))
    sizes = [len(get(web, place).body) for place in places(web, Kind.ORDINARY) if place[1] > 1]

    assert 2_000 <= statistics.median(sizes) <= 3_000


def test_the_navigation_bar_is_the_same_on_all_pages_of_a_host() -> None:
    web = SimWeb(SimWebConfig(hosts=5, pages=200))
    host = web.hosts[1]

    bars = {get(web, (host, page)).body.partition(b"<nav>")[2].partition(b"</nav>")[0] for page in range(20)}

    assert len(bars) == 1
    assert bars.pop().count(b"<a href=") == web.config.nav_links


def test_links_are_written_in_all_the_ways_links_are_written() -> None:
    web = SimWeb(SimWebConfig(hosts=30, pages=900))
    seen: Counter[str] = Counter()
    for place in places(web, Kind.ORDINARY):
        for piece in get(web, place).body.split(b'<a href="')[1:]:
            href = piece.partition(b'"')[0].decode()
            seen["absolute"] += href.startswith("http://")
            seen["from the root"] += href.startswith("/")
            seen["relative"] += href.startswith("../") or (href[0].isalpha() and ":" not in href)
            seen["fragment"] += "#" in href and len(href) > 1
            seen["entity"] += "&amp;" in href

    assert min(seen.values()) > 50
    assert len(seen) == 5


def test_unknown_hosts_and_paths_are_not_found() -> None:
    web = SimWeb(SimWebConfig(hosts=3, pages=30))

    assert web.respond("elsewhere.test", "/", NOW).status == 404
    assert web.respond("portal.test", "/favicon.ico", NOW).status == 404
    assert web.respond("PORTAL.test", "/", NOW).status == 200


def test_missing_pages_are_404() -> None:
    web = SimWeb(SimWebConfig(missing_rate=0.1))

    assert {get(web, place).status for place in places(web, Kind.MISSING)} == {404}


def test_duplicates_are_the_same_bytes_at_all_times_with_absolute_links_only() -> None:
    web = SimWeb(SimWebConfig(hosts=30, pages=2000, duplicate_rate=0.1))
    groups: dict[int, set[bytes]] = {}
    for host, page in places(web, Kind.DUPLICATE):
        bodies = groups.setdefault(web.graph.duplicate_group(host, page), set())
        bodies.add(get(web, (host, page)).body)
        bodies.add(get(web, (host, page), Instant(NOW + 400 * DAY)).body)

    assert len(groups) > 20
    assert {len(bodies) for bodies in groups.values()} == {1}
    every = [body for bodies in groups.values() for body in bodies]
    assert len(set(every)) == len(every)
    for body in every:
        hrefs = [piece.partition(b'"')[0] for piece in body.split(b'href="')[1:]]
        assert hrefs and all(href.startswith(b"http://") for href in hrefs)


def test_redirects_use_three_statuses_and_absolute_and_relative_locations() -> None:
    web = SimWeb(SimWebConfig(hosts=60, pages=6000, redirect_rate=0.1))
    answers = [get(web, place) for place in places(web, Kind.REDIRECT)]
    locations = [answer.header("location") or "" for answer in answers]

    assert {answer.status for answer in answers} == {301, 302, 307}
    assert any(location.startswith("http://") for location in locations)
    assert any(location.startswith("/") for location in locations)
    assert any(location.startswith("../") for location in locations)


def test_faulty_pages_answer_503_or_429_and_recover_for_good() -> None:
    web = SimWeb(SimWebConfig(epoch=NOW, fault_rate=0.1, fault_seconds=4.0))
    statuses: Counter[int] = Counter()
    for place in places(web, Kind.ORDINARY):
        recovers_at = web.recovers_at(*place)
        before = get(web, place, NOW)
        statuses[before.status] += 1
        assert (before.status == 200) == (not recovers_at)
        assert get(web, place, Instant(NOW + recovers_at + 0.001)).status == 200
        if before.status == 429:
            assert int(before.header("retry-after") or 0) == math.ceil(recovers_at)

    assert set(statuses) == {200, 429, 503}
    assert 0.1 < (statuses[429] + statuses[503]) / statuses.total() < 0.3  # pages' and hosts' faults together


def test_all_faults_are_over_when_the_fault_time_is() -> None:
    web = SimWeb(SimWebConfig(epoch=NOW, fault_rate=0.3, fault_seconds=4.0))

    after = [get(web, place, Instant(NOW + 4.0)).status for place in places(web, Kind.ORDINARY)]

    assert set(after) == {200}


def test_robots_txt_never_fails_transiently() -> None:
    web = SimWeb(SimWebConfig(epoch=NOW, fault_rate=1.0))

    assert {web.respond(host.name, "/robots.txt", NOW).status for host in web.hosts} == {200, 404}


def test_slow_hosts_answer_late_and_others_at_once() -> None:
    web = SimWeb(SimWebConfig(slow_hosts=0.1, slow_seconds=0.2))
    delays = [get(web, (host, 0)).delay for host in web.hosts]

    assert sum(1 for delay in delays if delay > 0) == 15
    assert all(not delay or 0.1 <= delay <= 0.3 for delay in delays)


def test_a_changed_page_has_a_new_etag_new_text_and_the_old_links() -> None:
    web = SimWeb(SimWebConfig(hosts=5, pages=50, static_pages=0.0, change_rate_per_day=1.0, validator_hosts=1.0))
    place = (web.hosts[0], 3)

    before, after = get(web, place), get(web, place, Instant(NOW + 60 * DAY))

    assert before.header("etag") != after.header("etag")
    assert before.header("last-modified") != after.header("last-modified")
    assert before.body != after.body
    links = [[piece.partition(b'"')[0] for piece in r.body.split(b'<a href="')[1:]] for r in (before, after)]
    assert links[0] == links[1]


def test_an_unchanged_page_is_304_by_etag_and_by_date() -> None:
    web = SimWeb(SimWebConfig(hosts=5, pages=50, validator_hosts=1.0))
    place = (web.hosts[0], 3)
    first = get(web, place)
    tag, date = first.header("etag") or "", first.header("last-modified") or ""

    by_tag = get(web, place, if_none_match=f'"other", W/{tag}')
    by_date = get(web, place, if_modified_since=date)

    assert (by_tag.status, by_tag.body, by_tag.header("etag")) == (304, b"", tag)
    assert by_date.status == 304


def test_a_changed_page_is_sent_whatever_the_client_has() -> None:
    web = SimWeb(SimWebConfig(hosts=5, pages=50, static_pages=0.0, change_rate_per_day=1.0, validator_hosts=1.0))
    place = (web.hosts[0], 3)
    later = Instant(NOW + 60 * DAY)
    first = get(web, place)
    tag, date = first.header("etag") or "", first.header("last-modified") or ""

    assert get(web, place, later, if_none_match=tag).status == 200
    assert get(web, place, later, if_modified_since=date).status == 200
    # The tag outweighs the date, and a date that cannot be read counts for nothing.
    fresh = get(web, place, later).header("last-modified") or ""
    assert get(web, place, later, if_none_match=tag, if_modified_since=fresh).status == 200
    assert get(web, place, later, if_modified_since="yesterday or so").status == 200


def test_hosts_without_validators_send_none() -> None:
    web = SimWeb(SimWebConfig(validator_hosts=0.0))
    answer = get(web, (web.hosts[0], 0), if_none_match="*")

    assert answer.status == 200
    assert answer.header("etag") is None


def test_changes_come_as_in_a_poisson_process() -> None:
    per_day, days, pages = 2.0, 300, 40
    gaps: list[float] = []
    for page in range(pages):
        length = 3 * DAY / per_day
        moments = [m for slot in range(int(days * DAY / length)) for m in changes_in(page, slot, length)]
        gaps += [later - earlier for earlier, later in itertools.pairwise(moments)]

    mean = statistics.fmean(gaps)
    assert mean == pytest.approx(DAY / per_day, rel=0.03)
    # Exponential: deviation and mean are equal, and 1/e of the gaps are longer than the mean.
    assert statistics.pstdev(gaps) == pytest.approx(mean, rel=0.05)
    assert sum(1 for gap in gaps if gap > mean) / len(gaps) == pytest.approx(math.exp(-1), abs=0.02)


def test_versions_only_grow_and_begin_at_their_moment_of_change() -> None:
    versions = [version_at(99, 5.0, Instant(NOW + minute * 60.0)) for minute in range(4000)]

    assert [v.number for v in versions] == sorted(v.number for v in versions)
    assert len({v.number for v in versions}) > 8
    for version in set(versions):
        assert version_at(99, 5.0, version.since) == version
        assert version_at(99, 5.0, Instant(version.since - 0.001)).number < version.number


def test_the_moments_of_change_are_those_at_which_another_version_is_shown() -> None:
    start, end = Instant(1_700_000_000.0), Instant(1_700_000_000.0 + 40 * 86_400)
    for key, per_day in ((17, 0.3), (18, 2.0), (19, 0.001)):
        moments = changes_between(key, per_day, start, end)
        shown = [version_at(key, per_day, start), *(version_at(key, per_day, moment) for moment in moments)]

        assert all(start < moment <= end for moment in moments)
        assert [version.since for version in shown[1:]] == moments
        assert version_at(key, per_day, end) == shown[-1]
    assert changes_between(17, 0.0, start, end) == []


def test_a_page_without_changes_has_one_version() -> None:
    assert version_at(5, 0.0, NOW) == version_at(5, 0.0, Instant(NOW + 1000 * DAY))
