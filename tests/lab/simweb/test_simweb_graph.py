"""The shape of the web: hosts, sizes, links."""

import itertools
from collections import Counter
from urllib.parse import urlsplit

import pytest

from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import Kind, host_sizes, number_of, path_of, url_of
from gossamer.lab.simweb.web import SimWeb


def all_links(web: SimWeb, place: Place) -> list[Place]:
    host, page = place
    inside, outside = web.graph.links(host, page)
    return [(host, p) for p in (*web.graph.nav(host), *inside)] + outside


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
def test_host_sizes_fall_with_rank_and_add_up_to_all_pages(exponent: float) -> None:
    sizes = host_sizes(SimWebConfig(hosts=200, pages=10_000, host_exponent=exponent))

    assert sum(sizes) == 10_000
    assert min(sizes) >= 1
    assert all(larger >= smaller - 1 for larger, smaller in itertools.pairwise(sizes))


def test_host_sizes_follow_a_power_law() -> None:
    sizes = host_sizes(SimWebConfig(hosts=1000, pages=1_000_000, host_exponent=1.0))

    # Ten times the rank, a tenth of the size.
    assert sizes[0] / sizes[9] == pytest.approx(10, rel=0.05)
    assert sizes[9] / sizes[99] == pytest.approx(10, rel=0.1)


def test_no_host_is_larger_than_the_cap() -> None:
    sizes = host_sizes(SimWebConfig(hosts=100, pages=5000, host_exponent=1.2, max_host_pages=120))

    assert max(sizes) == 120
    assert sum(sizes) == 5000


def test_one_host_can_be_given_a_share_of_all_pages() -> None:
    web = SimWeb(preset("even"))

    largest = max(host.pages for host in web.hosts)

    assert largest == pytest.approx(web.graph.pages / 2, rel=0.02)


def test_the_demo_has_no_host_that_would_take_longer_than_half_a_minute() -> None:
    web = SimWeb(preset("demo"))
    taken: Counter[str] = Counter()

    for host in web.hosts:
        gap = max(0.1, 10 * host.slow, host.robots.crawl_delay)
        taken[host.address] += round(1000 * (host.pages + 1) * (gap + host.slow + 0.005))

    assert 3900 <= web.graph.pages <= 4100
    assert max(taken.values()) < 30_000


def test_every_path_leads_back_to_its_page_and_no_two_are_alike() -> None:
    web = SimWeb(SimWebConfig(hosts=40, pages=3000, disallowed_rate=0.2))

    for host in web.hosts:
        paths = [path_of(host, page) for page in range(host.pages)]
        assert [number_of(host, path) for path in paths] == list(range(host.pages))


@pytest.mark.parametrize("target", ["/nothing", "/news/amber-12", "/0", "/99999999999999999999", "/view?id=", ""])
def test_what_is_no_path_of_a_host_has_no_number(target: str) -> None:
    web = SimWeb(SimWebConfig(hosts=5, pages=200))

    assert all(number_of(host, target) is None for host in web.hosts)


def test_most_links_stay_on_their_host() -> None:
    web = SimWeb(SimWebConfig(hosts=100, pages=20_000))
    inside = outside = 0

    for host in web.hosts:
        for page in range(1, min(host.ordinary, 60)):
            within, out = web.graph.links(host, page)
            inside += len(within) + len(web.graph.nav(host))
            outside += len(out)

    assert 0.78 <= inside / (inside + outside) <= 0.92


def test_in_links_are_unequal_as_in_a_power_law() -> None:
    web = SimWeb(SimWebConfig(hosts=50, pages=5000))
    linked: Counter[str] = Counter()

    for host in web.hosts:
        for page in range(host.ordinary):
            _, outside = web.graph.links(host, page)
            linked.update(url_of(*place) for place in outside)

    counts = sorted(linked.values(), reverse=True)
    assert sum(counts[: len(counts) // 20]) > sum(counts) / 3  # a twentieth of the pages has a third
    assert counts[len(counts) // 2] <= 3  # and most have hardly any


def test_every_page_has_a_parent_that_a_crawler_may_follow() -> None:
    web = SimWeb(SimWebConfig(hosts=30, pages=1500))

    for host in web.hosts:
        children = {p for page in range(host.ordinary) for p in web.graph.links(host, page)[0]}
        assert children >= set(range(1, host.pages))


def test_some_registrable_domains_have_several_hosts() -> None:
    web = SimWeb(SimWebConfig())
    domains = Counter(".".join(host.name.split(".")[-2:]) for host in web.hosts)

    assert len(web.hosts) == len({host.name for host in web.hosts})
    assert sum(1 for count in domains.values() if count > 1) >= 3
    assert sum(1 for count in domains.values() if count == 1) >= 50


def test_hosts_have_loopback_addresses_of_their_own_unless_they_share() -> None:
    web = SimWeb(SimWebConfig(hosts=600, pages=3000, shared_address_hosts=0.1))
    hosts_at = Counter(host.address for host in web.hosts)

    assert all(address.startswith("127.") for address in hosts_at)
    assert sum(count for count in hosts_at.values() if count > 1) == 60
    assert max(hosts_at.values()) == 3


def test_redirects_end_at_a_page_after_at_most_four_hops() -> None:
    web = SimWeb(SimWebConfig(hosts=60, pages=6000, redirect_rate=0.2))
    lengths: Counter[int] = Counter()
    crossed = 0

    for host in web.hosts:
        for page in range(host.duplicates_end, host.redirects_end):
            at: Place = (host, page)
            hops = 0
            while at[0].kind(at[1]) is Kind.REDIRECT and hops <= 4:
                at = web.graph.redirect(*at).target
                hops += 1
            lengths[hops] += 1
            crossed += at[0] is not host
            assert at[0].kind(at[1]) in (Kind.ORDINARY, Kind.RESTRICTED)

    assert set(lengths) == {1, 2, 3, 4}
    assert crossed > 10


def test_duplicates_are_found_within_hosts_and_across_hosts() -> None:
    web = SimWeb(SimWebConfig(hosts=50, pages=5000, duplicate_rate=0.1))
    groups: dict[int, list[Place]] = {}

    for host in web.hosts:
        for page in range(host.ordinary, host.duplicates_end):
            groups.setdefault(web.graph.duplicate_group(host, page), []).append((host, page))

    assert all(len(members) >= 2 for members in groups.values())
    assert {group: members == web.graph.duplicate_members(group) for group, members in groups.items()} == (
        dict.fromkeys(groups, True)
    )
    spread = [len({host.number for host, _ in members}) for members in groups.values()]
    assert spread.count(1) > 10
    assert sum(1 for hosts in spread if hosts > 1) > 10


def test_forty_pages_of_the_burst_tell_of_two_hundred_thousand_urls() -> None:
    web = SimWeb(preset("burst"))
    portal = web.hosts[0]
    hubs = [place for place in web.graph.links(portal, 0)[1] if 0 < place[1] <= len(place[0].hubs) + 1]
    known: set[int] = set()
    for place in hubs[:38]:
        links = {host.first_page + page for host, page in all_links(web, place)}
        assert 5_000 <= len(links) <= 6_000
        known |= links

    assert len({host.number for host, _ in hubs}) >= 38
    assert len(known) >= 200_000


def test_a_benchmark_crawl_meets_new_urls_in_a_steady_share() -> None:
    web = SimWeb(preset("bench", hosts=400, pages=100_000))
    queues = {host.number: [(host, 0)] for host in web.hosts}
    known = {host.first_page for host in web.hosts}
    shares: list[float] = []

    # Every host in turn, as politeness makes a crawler do.
    for _ in range(8):
        links = new = 0
        for queue in queues.values():
            for other, page in all_links(web, queue.pop(0)):
                links += 1
                if other.first_page + page not in known:
                    known.add(other.first_page + page)
                    queues[other.number].append((other, page))
                    new += 1
        shares.append(new / links)

    assert all(0.09 <= share <= 0.16 for share in shares[2:]), shares


def test_urls_are_absolute_and_carry_the_port() -> None:
    web = SimWeb(SimWebConfig(hosts=3, pages=30, port=8123))
    parts = urlsplit(url_of(web.hosts[2], 4))

    assert (parts.scheme, parts.hostname, parts.port) == ("http", web.hosts[2].name, 8123)
    assert url_of(SimWeb(SimWebConfig(hosts=3, pages=30, port=80)).hosts[0], 0) == "http://portal.test/"
