"""The client for a few requests before a crawl: robots.txt, gaps, redirects and addresses, one request at a time."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.crawl.run.search import LONGEST_WAIT, ClientRules, PoliteClient
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.filter.canonical import Canonicaliser
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds, Url
from gossamer.seed.search import NoAnswer, SearchAnswer
from tests.crawl.scripted_crawl import LoopTime, run_in_step, wait_for_names
from tests.crawl.scripted_fetcher import ScriptedFetcher, Step, failed, redirect, response
from tests.name_server import NXDOMAIN, A, Reply, a, name_server

ADDRESSES = {"a.test": "93.184.216.1", "b.test": "93.184.216.2", "c.test": "93.184.216.1", "inside.test": "10.0.0.1"}
PAGE = "http://a.test/search?q=x"
ROBOTS = "http://a.test/robots.txt"
FOUND = response(200, b"<p>results", {"Content-Type": "text/html"})


class Client:
    """A client on a scripted web, and when it sent each of its requests."""

    def __init__(self, client: PoliteClient, fetcher: ScriptedFetcher, clock: LoopTime) -> None:
        self.client = client
        self.fetcher = fetcher
        self.clock = clock
        self.times: list[float] = []
        began = clock.now()
        fetcher.on_request = lambda request: self.times.append(clock.now() - began)

    async def fetch(self, url: str = PAGE) -> SearchAnswer | NoAnswer:
        return await self.client.fetch(Url(url))


Act = Callable[[Client], Coroutine[Any, Any, Any]]


def run_client(
    script: Mapping[str, Step], act: Act = Client.fetch, delay: float = 1.0, hosts: HostSettingsTable | None = None
) -> tuple[Any, Client]:
    """What `act` returned, and the client. Hosts whose robots.txt is not in the script have none."""

    def zone(host: str, kind: int) -> Reply:
        return Reply(code=NXDOMAIN) if host not in ADDRESSES else a(ADDRESSES[host]) if kind == A else Reply()

    async def main() -> tuple[Any, Client]:
        clock = LoopTime()
        fetcher = ScriptedFetcher(clock)
        absent = {f"http://{host}/robots.txt": response(404) for host in ADDRESSES}
        for url, step in {**absent, **script}.items():
            fetcher.on(url, step)
        async with name_server(zone) as server:
            resolver = Resolver([server.address], clock)
            wait_for_names(resolver)
            asker = PoliteClient(
                fetcher,
                resolver,
                AddressChoice(AddressPolicy().may_dial),
                clock,
                ClientRules(
                    hosts or HostSettingsTable(),
                    Canonicaliser(),
                    PolitenessPolicy(min_delay=Seconds(delay)),
                    "gossamer",
                    max_redirects=3,
                ),
            )
            client = Client(asker, fetcher, clock)
            try:
                return await act(client), client
            finally:
                await resolver.close()

    return run_in_step(main())


def rules(*lines: str) -> Step:
    return response(200, "\n".join(["User-agent: *", *lines]).encode())


def test_a_page_is_fetched_after_the_robots_txt_of_its_host_and_the_gap() -> None:
    answer, client = run_client({PAGE: FOUND})

    assert answer == SearchAnswer(200, b"<p>results", "text/html")
    assert client.fetcher.urls == [ROBOTS, PAGE]
    assert client.times[1] - client.times[0] >= 1.0


def test_robots_txt_is_fetched_once_for_several_pages() -> None:
    async def twice(client: Client) -> None:
        await client.fetch(PAGE)
        await client.fetch(PAGE + "y")

    _, client = run_client({PAGE: FOUND, PAGE + "y": FOUND}, twice)

    assert client.fetcher.urls == [ROBOTS, PAGE, PAGE + "y"]
    assert client.times[2] - client.times[1] >= 1.0


def test_a_page_that_robots_txt_disallows_is_not_fetched() -> None:
    answer, client = run_client({ROBOTS: rules("Disallow: /search")})

    assert answer == NoAnswer("robots_denied", "line 2: Disallow: /search")
    assert client.fetcher.urls == [ROBOTS]


def test_a_host_whose_robots_txt_fails_with_a_server_error_is_not_asked_for_a_page() -> None:
    answer, client = run_client({ROBOTS: response(503)})

    assert isinstance(answer, NoAnswer) and answer.reason == "robots_unreachable"
    assert client.fetcher.urls == [ROBOTS]


def test_a_redirect_of_robots_txt_is_followed() -> None:
    script = {ROBOTS: redirect("http://b.test/rules"), "http://b.test/rules": rules("Disallow: /search")}

    answer, client = run_client(script)

    assert isinstance(answer, NoAnswer) and answer.reason == "robots_denied"
    assert client.fetcher.urls == [ROBOTS, "http://b.test/rules"]


def test_a_robots_txt_is_not_sought_on_another_protocol() -> None:
    answer, client = run_client({ROBOTS: redirect("ftp://b.test/robots.txt"), PAGE: FOUND})

    assert isinstance(answer, SearchAnswer)
    assert client.fetcher.urls == [ROBOTS, PAGE]


def test_a_crawl_delay_is_kept() -> None:
    _, client = run_client({ROBOTS: rules("Crawl-delay: 20"), PAGE: FOUND})

    assert client.times[1] - client.times[0] >= 20.0


def test_a_wait_that_is_too_long_for_a_person_is_not_waited_for() -> None:
    answer, client = run_client({ROBOTS: rules(f"Crawl-delay: {LONGEST_WAIT + 1:.0f}")})

    assert isinstance(answer, NoAnswer) and answer.reason == "crawl_delay_too_long"
    assert client.fetcher.urls == [ROBOTS]


def test_a_retry_after_is_kept() -> None:
    async def twice(client: Client) -> None:
        await client.fetch(PAGE)
        await client.fetch(PAGE + "y")

    busy = response(503, headers={"Retry-After": "30"})
    _, client = run_client({PAGE: busy, PAGE + "y": FOUND}, twice)

    assert client.times[2] - client.times[1] >= 30.0


def test_two_hosts_at_one_address_share_its_gap() -> None:
    async def both(client: Client) -> None:
        await client.fetch("http://a.test/")
        await client.fetch("http://c.test/")

    _, client = run_client({"http://a.test/": FOUND, "http://c.test/": FOUND}, both)

    assert client.fetcher.urls[1:3] == ["http://a.test/", "http://c.test/robots.txt"]
    assert client.times[2] - client.times[1] >= 1.0


def test_a_redirect_is_followed_under_the_rules_of_its_target() -> None:
    answer, client = run_client({PAGE: redirect("http://b.test/"), "http://b.test/": FOUND})

    assert isinstance(answer, SearchAnswer)
    assert client.fetcher.urls == [ROBOTS, PAGE, "http://b.test/robots.txt", "http://b.test/"]


def test_too_many_redirects_are_no_answer() -> None:
    answer, client = run_client({f"http://a.test/{n}": redirect(f"/{n + 1}") for n in range(10)}, first_of_many)

    assert answer == NoAnswer("too_many_redirects")
    assert client.fetcher.urls == [ROBOTS, *(f"http://a.test/{n}" for n in range(4))]


async def first_of_many(client: Client) -> SearchAnswer | NoAnswer:
    return await client.fetch("http://a.test/0")


def test_a_redirect_to_another_scheme_is_no_answer() -> None:
    answer, _ = run_client({PAGE: redirect("gopher://a.test/")})

    assert answer == NoAnswer("bad_scheme")


@pytest.mark.parametrize(
    ("url", "reason"),
    [("http://nowhere.test/", Failure.DNS_NXDOMAIN), ("http://inside.test/", Failure.BLOCKED_ADDRESS)],
)
def test_a_host_without_an_address_that_may_be_dialled_is_not_contacted(url: str, reason: Failure) -> None:
    async def fetch_it(client: Client) -> SearchAnswer | NoAnswer:
        return await client.fetch(url)

    answer, client = run_client({}, fetch_it)

    assert isinstance(answer, NoAnswer) and answer.reason == reason.value
    assert client.fetcher.urls == []


def test_behind_a_proxy_no_name_is_resolved() -> None:
    async def fetch_it(client: Client) -> SearchAnswer | NoAnswer:
        return await client.fetch("http://nowhere.test/")

    proxied = HostSettingsTable(HostSettings(HostOptions(proxy=Proxy.parse("http://proxy.test:3128"))))
    script = {"http://nowhere.test/robots.txt": response(404), "http://nowhere.test/": FOUND}
    answer, client = run_client(script, fetch_it, hosts=proxied)

    assert isinstance(answer, SearchAnswer)
    assert [request.address for request in client.fetcher.requests] == ["", ""]


def test_a_failed_request_is_no_answer_with_its_reason() -> None:
    answer, _ = run_client({PAGE: failed(Failure.CONNECTION_LOST)})

    assert answer == NoAnswer("connection_lost", "scripted connection_lost")


def test_a_host_that_could_not_be_contacted_costs_no_gap() -> None:
    async def twice(client: Client) -> None:
        await client.fetch(PAGE)
        await client.fetch(PAGE + "y")

    refused = failed(Failure.CONN_REFUSED, contacted=False)
    _, client = run_client({PAGE: refused, PAGE + "y": FOUND}, twice)

    assert client.times[2] - client.times[1] < 1.0


def test_a_rest_lasts_until_every_host_may_be_contacted_again() -> None:
    async def fetch_and_rest(client: Client) -> float:
        await client.fetch()
        fetched = client.clock.now()
        await client.client.wait_until_clear()
        return client.clock.now() - fetched

    rested, _ = run_client({PAGE: FOUND}, fetch_and_rest, delay=5.0)

    assert rested == pytest.approx(5.0)


def test_a_client_that_contacted_nobody_need_not_rest() -> None:
    async def rest(client: Client) -> float:
        before = client.clock.now()
        await client.client.wait_until_clear()
        return client.clock.now() - before

    rested, _ = run_client({}, rest)

    assert rested == 0.0
