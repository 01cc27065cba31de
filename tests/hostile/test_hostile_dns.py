"""The cases DN-01 to DN-17 of the hostile web, against real name servers and listeners on loopback."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.config.policies import HOST_PATIENCE
from gossamer.fetch.dns.address_choice import DialRules
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.resolver import ResolveLater, Resolver, ResolverRules
from gossamer.frontier.retries import RETRY_RULES
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response
from gossamer.model.units import HostKey, Seconds
from tests.crawl.scripted_crawl import ADDRESSES, HOME, crawled, html
from tests.crawl.scripted_crawl import SERVFAIL as UNRESOLVABLE
from tests.crawl.scripted_fetcher import redirect
from tests.hostile.dns_stage import listening, resolver_at, stage, survive, swallowing
from tests.name_server import AAAA, CNAME, NXDOMAIN, SERVFAIL, A, Reply, a, aaaa, name_server, only

SILENT = Reply(silent=True)
HERE = "127.0.7.1"  # where pages are; permitted by the cases that fetch
NOBODYS = "127.0.7.53"  # where no other test takes a port meanwhile
MINUTE, HOUR = 60.0, 3600.0
NAMES = [HostKey(name) for name in ("a.test", "b.test", "c.test")]


def failure_of(outcome: object) -> Failure:
    assert isinstance(outcome, Failed), outcome
    return outcome.failure


def body_of(outcome: FetchOutcome) -> bytes:
    assert isinstance(outcome, Response), outcome
    return outcome.wire_body


def test_dn_01_nxdomain_for_a_host_with_200_urls_costs_two_questions() -> None:
    async def case() -> tuple[list[Addresses | Failed], int, int]:
        async with stage(lambda _host, _kind: Reply(code=NXDOMAIN)) as crawl:
            first = await asyncio.gather(*(crawl.resolve("gone.test") for _ in range(100)))
            crawl.clock.advance(Seconds(299.0))
            later = [await crawl.resolve("gone.test") for _ in range(100)]
            within = len(crawl.names.asked)
            crawl.clock.advance(Seconds(2.0))
            await crawl.resolve("gone.test")
            return [*first, *later], within, len(crawl.names.asked)

    outcomes, within, after = survive(case())

    assert {failure_of(outcome) for outcome in outcomes} == {Failure.DNS_NXDOMAIN}
    assert not any(isinstance(outcome, ResolveLater) for outcome in outcomes)
    assert (within, after) == (2, 4)


def test_dn_02_a_host_whose_servers_fail_for_a_minute_is_parked_and_then_found() -> None:
    async def case() -> tuple[int, float, int]:
        replies = {"ill.test": Reply(code=SERVFAIL)}
        async with stage(lambda host, _kind: replies.get(host, a(HERE))) as crawl:
            await crawl.resolve("well.test")
            start, tries = crawl.clock.now(), 0
            for _ in range(100):
                if crawl.clock.now() - start >= MINUTE:
                    replies["ill.test"] = a(HERE)
                outcome = await crawl.resolve("ill.test")
                if isinstance(outcome, Addresses):
                    break
                tries += not isinstance(outcome, ResolveLater)
                crawl.clock.advance(Seconds(1.0))
            return tries, crawl.clock.now() - start, crawl.names.questions("ill.test")

    tries, took, questions = survive(case())

    # Tries that cost a URL one of its own: fewer than send it to the dead letters.
    assert 0 < tries < RETRY_RULES[Failure.DNS_SERVFAIL].max_tries
    assert took <= 2 * MINUTE
    assert questions <= 2 * (tries + 1)


def test_dn_03_silence_for_500_hosts_does_not_hold_up_50_others() -> None:
    def zone(host: str, _kind: int) -> Reply:
        return SILENT if host.startswith("dead") else a(HERE)

    async def case() -> tuple[int, list[bool], set[Failure], bool, list[bool]]:
        async with stage(zone, answer_time=5.0) as crawl:
            dead: list[asyncio.Task[Addresses | Failed]] = []
            for group in range(10):  # more at once would overflow the name server's socket
                dead += [asyncio.create_task(crawl.resolve(f"dead{n}.d{group}{n}")) for n in range(50)]
                await asyncio.sleep(0.02)
            good = await asyncio.gather(*(crawl.resolve(f"good{n}.test") for n in range(50)))
            waiting = sum(not task.done() for task in dead)
            failures = {failure_of(outcome) for outcome in await asyncio.gather(*dead)}
            new = [await crawl.resolve(f"new{n}.test") for n in range(50)]
            sick = crawl.resolver.statistics().failing
            return (
                waiting,
                [isinstance(g, Addresses) for g in good],
                failures,
                sick,
                [isinstance(n, Addresses) for n in new],
            )

    waiting, good, failures, sick, new = survive(case())

    assert waiting == 500
    assert all(good)
    assert failures == {Failure.DNS_TIMEOUT}
    # Nor does it pass for an illness of the resolver afterwards.
    assert not sick
    assert all(new)


def test_dn_04_a_time_to_live_of_zero_is_asked_for_once_in_30_seconds() -> None:
    async def case() -> tuple[int, int]:
        async with stage(only(A, a(HERE, ttl=0))) as crawl:
            for _ in range(300):
                assert isinstance(await crawl.resolve("x.test"), Addresses)
                crawl.clock.advance(Seconds(1.0))
            return crawl.names.asked.count(("x.test", A)), crawl.names.asked.count(("x.test", AAAA))

    assert survive(case()) == (10, 10)


@pytest.mark.parametrize("ttl", [2147483647, 2147483648, 4294967295])
def test_dn_05_an_endless_time_to_live_holds_for_an_hour_at_most(ttl: int) -> None:
    async def case() -> tuple[object, object, int]:
        replies = {"now": a(HERE, ttl=ttl)}
        async with stage(lambda _host, kind: replies["now"] if kind == A else Reply()) as crawl:
            before = await crawl.resolve("x.test")
            replies["now"] = a("127.0.7.2", ttl=ttl)
            crawl.clock.advance(Seconds(HOUR + 1.0))
            return before, await crawl.resolve("x.test"), crawl.names.asked.count(("x.test", A))

    before, after, asked = survive(case())

    assert isinstance(before, Addresses) and before.addresses == (HERE,)
    assert isinstance(after, Addresses) and after.addresses == ("127.0.7.2",)
    assert asked == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(owned=[("a.test", CNAME, 60, "b.test"), ("b.test", CNAME, 60, "a.test")]),
        Reply(owned=[("a.test", CNAME, 60, "a.test")]),
        Reply(owned=[(f"{chr(97 + n)}.test", CNAME, 60, f"{chr(98 + n)}.test") for n in range(20)]),
    ],
)
def test_dn_06_aliases_in_a_circle_in_one_answer_have_their_own_name(reply: Reply) -> None:
    async def case() -> Addresses | Failed:
        async with stage(lambda _host, _kind: reply, answer_time=5.0) as crawl:
            return await crawl.resolve("a.test")

    assert failure_of(survive(case())) is Failure.DNS_CNAME_LOOP


def test_dn_06_aliases_in_a_circle_over_several_answers_end_too() -> None:
    def circle(host: str, _kind: int) -> Reply:
        return Reply([(CNAME, 60, "b.test" if host == "a.test" else "a.test")])

    def endless(host: str, _kind: int) -> Reply:
        return Reply([(CNAME, 60, f"x{host}")])

    async def case(zone: object) -> tuple[Addresses | Failed, int]:
        assert callable(zone)
        async with stage(zone, answer_time=5.0) as crawl:
            return await crawl.resolve("a.test"), len(crawl.names.asked)

    for zone, most in ((circle, 4), (endless, 32)):
        outcome, asked = survive(case(zone))

        assert failure_of(outcome) is Failure.DNS_CNAME_LOOP
        assert asked <= most


def test_dn_06_an_alias_that_leads_somewhere_is_followed() -> None:
    def zone(host: str, kind: int) -> Reply:
        return Reply([(CNAME, 60, "b.test")]) if host == "a.test" else a(HERE) if kind == A else Reply()

    async def case() -> Addresses | Failed:
        async with stage(zone) as crawl:
            return await crawl.resolve("a.test")

    found = survive(case())

    assert isinstance(found, Addresses)
    assert found.addresses == (HERE,)


def test_dn_07_an_answer_that_changes_after_the_check_leads_nowhere_else() -> None:
    async def case() -> tuple[bytes, int, Failure, int]:
        with listening(HERE, page="the real one") as server, listening("127.0.0.1", server.port) as sentinel:
            answers = iter([a(HERE, ttl=0)])

            def rebinding(_host: str, kind: int) -> Reply:
                return next(answers, a("127.0.0.1", ttl=0)) if kind == A else Reply()

            async with stage(rebinding, f"{HERE}/32") as crawl:
                first = body_of(await crawl.visit("rebind.test", server.port))
                # Nobody else asks: the client was given an address, not a name.
                asked = crawl.names.asked.count(("rebind.test", A))
                crawl.clock.advance(Seconds(31.0))
                second = failure_of(await crawl.visit("rebind.test", server.port))
                return first, asked, second, sentinel.visitors

    first, asked, second, visitors = survive(case())

    assert first == b"the real one"
    assert asked == 1
    assert second is Failure.BLOCKED_ADDRESS
    assert visitors == 0


FORBIDDEN = [
    a("169.254.169.254"),
    a("10.0.0.1"),
    a("127.0.0.1"),
    a("0.0.0.0"),
    aaaa("::1"),
    aaaa("fd00::1"),
    aaaa("fd00:ec2::254"),
    aaaa("::ffff:127.0.0.1"),
    aaaa("64:ff9b::7f00:1"),
]


@pytest.mark.parametrize("reply", FORBIDDEN, ids=lambda reply: reply.records[0][2])
def test_dn_08_a_name_that_leads_to_a_private_address_is_not_followed(reply: Reply) -> None:
    async def case() -> tuple[Failure, int]:
        with listening("127.0.0.1") as four, listening("::1", four.port) as six:
            async with stage(only(reply.records[0][0], reply)) as crawl:
                outcome = await crawl.visit("inside.test", four.port)
                return failure_of(outcome), four.visitors + six.visitors

    assert survive(case()) == (Failure.BLOCKED_ADDRESS, 0)


@pytest.mark.parametrize("addresses", [("127.0.0.1", HERE), (HERE, "127.0.0.1")])
def test_dn_09_of_several_addresses_only_permitted_ones_are_dialled(addresses: tuple[str, str]) -> None:
    async def case() -> tuple[bytes, int]:
        with listening(HERE, page="permitted") as server, listening("127.0.0.1", server.port) as sentinel:
            async with stage(only(A, a(*addresses)), f"{HERE}/32") as crawl:
                return body_of(await crawl.visit("mixed.test", server.port)), sentinel.visitors

    assert survive(case()) == (b"permitted", 0)


def test_dn_09_when_the_permitted_one_is_down_the_other_is_still_not_dialled() -> None:
    async def case() -> tuple[Failure, int]:
        with listening("127.0.0.1") as sentinel:
            async with stage(only(A, a(HERE, "127.0.0.1")), f"{HERE}/32") as crawl:
                return failure_of(await crawl.visit("mixed.test", sentinel.port)), sentinel.visitors

    assert survive(case()) == (Failure.CONN_REFUSED, 0)


def test_dn_10_dead_addresses_are_passed_over_and_remembered() -> None:
    refusing = [f"127.0.7.{n}" for n in range(11, 15)]
    black_holes = ["127.0.7.15", "127.0.7.16"]
    good = ["127.0.7.17", "127.0.7.18"]

    async def case() -> tuple[list[bytes], list[bool], bool]:
        with listening(good[0], page="found") as server, listening(good[1], server.port, page="found too"):
            port = server.port
            with swallowing(black_holes[0], port), swallowing(black_holes[1], port):
                async with stage(only(A, a(*refusing, *black_holes, *good, ttl=300)), "127.0.7.0/24") as crawl:
                    dialling, clock = crawl.dialling, crawl.clock
                    bodies = [body_of(await crawl.visit("many.test", port))]
                    dead = [dialling.is_dead(address, clock.now()) for address in (*refusing, *black_holes, *good)]
                    clock.advance(Seconds(59.0))
                    # None of the dead ones is tried again, or this would take a connect deadline each.
                    found = crawl.resolver.cached(HostKey("many.test"))
                    assert found is not None
                    chosen = dialling.choose(found, None, clock.now())
                    bodies.append(body_of(await crawl.visit("many.test", port)))
                    return bodies, dead, chosen == good[0]

    bodies, dead, good_one_chosen = survive(case())

    assert bodies == [b"found", b"found"]
    assert dead == [True] * 6 + [False] * 2
    assert good_one_chosen
    # Refused ones cost no time; each black hole costs what a visit waits while it has another address in hand.
    assert len(black_holes) * DialRules().timeout_with_alternative <= 3.0


def test_dn_11_a_host_with_ipv6_only_is_fetched_over_ipv6() -> None:
    async def case() -> tuple[bytes, str]:
        with listening("::1", page="six") as server:
            async with stage(only(AAAA, aaaa("::1")), "::1/128") as crawl:
                outcome = await crawl.visit("six.test", server.port)
                assert isinstance(outcome, Response)
                return outcome.wire_body, outcome.address

    assert survive(case()) == (b"six", "::1")


def test_dn_12_an_ipv6_address_that_swallows_packets_does_not_delay_ipv4() -> None:
    async def case() -> tuple[bytes, str, bool]:
        with listening(HERE, page="four") as server, swallowing("::1", server.port):

            def zone(_host: str, kind: int) -> Reply:
                return a(HERE) if kind == A else aaaa("::1")

            async with stage(zone, f"{HERE}/32", "::1/128") as crawl:
                outcome = await crawl.visit("both.test", server.port)
                assert isinstance(outcome, Response)
                # It was not even dialled: what is never begun needs no falling back from.
                return outcome.wire_body, outcome.address, crawl.dialling.is_dead("::1", crawl.clock.now())

    assert survive(case()) == (b"four", HERE, False)


def test_dn_13_a_name_without_an_address_is_remembered_as_such() -> None:
    async def case() -> tuple[set[Failure], int]:
        async with stage(lambda _host, _kind: Reply()) as crawl:
            failures = {failure_of(await crawl.resolve("empty.test")) for _ in range(20)}
            crawl.clock.advance(Seconds(299.0))
            failures.add(failure_of(await crawl.resolve("empty.test")))
            return failures, len(crawl.names.asked)

    assert survive(case()) == ({Failure.DNS_NO_ADDRESS}, 2)


def test_dn_14_a_host_that_has_moved_is_found_at_the_second_try() -> None:
    async def case() -> tuple[bytes, Failure, bytes]:
        home = {"now": a("127.0.7.21", ttl=86_400)}
        async with stage(lambda _host, kind: home["now"] if kind == A else Reply(), "127.0.7.0/24") as crawl:
            with listening("127.0.7.21", page="old") as server:
                port = server.port
                before = body_of(await crawl.visit("moving.test", port))
            home["now"] = a("127.0.7.22", ttl=86_400)
            with listening("127.0.7.22", port, page="new"):
                first = failure_of(await crawl.visit("moving.test", port))
                return before, first, body_of(await crawl.visit("moving.test", port))

    before, first, second = survive(case())

    assert (before, second) == (b"old", b"new")
    assert first in (Failure.CONN_REFUSED, Failure.CONNECTION_LOST)
    assert RETRY_RULES[first].max_tries >= 2


async def down_for_half_a_minute(server: str, clock: VirtualClock, resolver: Resolver) -> list[type]:
    """What three names get while nothing answers at `server`, asked for every second."""
    outcomes: list[type] = []
    for _ in range(30):
        outcomes += [type(await resolver.resolve(name)) for name in NAMES]
        clock.advance(Seconds(1.0))
    assert resolver.statistics().failing, server
    return outcomes


async def seconds_until_found(clock: VirtualClock, resolver: Resolver) -> float:
    back = clock.now()
    for _ in range(100):
        if all([isinstance(await resolver.resolve(name), Addresses) for name in NAMES]):
            break
        clock.advance(Seconds(0.1))
    assert not resolver.statistics().failing
    return clock.now() - back


def test_dn_15_a_resolver_that_is_not_there_at_the_start_costs_no_url_a_try() -> None:
    async def case() -> tuple[list[type], float]:
        async with name_server(lambda _host, _kind: SILENT, address=NOBODYS) as reserved:
            server = reserved.address
        clock = VirtualClock()
        resolver = resolver_at(clock, server)
        try:
            outcomes = await down_for_half_a_minute(server, clock, resolver)
            async with name_server(only(A, a(HERE)), int(server.rpartition(":")[2]), NOBODYS):
                return outcomes, await seconds_until_found(clock, resolver)
        finally:
            await resolver.close()

    outcomes, took = survive(case())

    assert set(outcomes) == {ResolveLater}
    assert took <= 5.0


def test_dn_15_a_resolver_that_says_nothing_at_the_start_costs_no_url_a_try() -> None:
    async def case() -> tuple[list[type], float]:
        zone = {"now": SILENT}
        async with name_server(lambda _host, _kind: zone["now"]) as server:
            clock = VirtualClock()
            resolver = resolver_at(clock, server.address, answer_time=0.3)
            try:
                outcomes = await down_for_half_a_minute(server.address, clock, resolver)
                zone["now"] = a(HERE)
                return outcomes, await seconds_until_found(clock, resolver)
            finally:
                await resolver.close()

    outcomes, took = survive(case())

    assert set(outcomes) == {ResolveLater}
    assert took <= 5.0


def test_dn_16_a_name_server_that_always_needs_seconds_slows_lookups_down_and_stops_none() -> None:
    """In real time, because c-ares has a clock of its own. A busy machine may take several attempts."""
    names = [HostKey(f"h{number}.test") for number in range(8)]

    async def attempt(*servers: str) -> tuple[bool, bool]:
        clock = VirtualClock()
        resolver = resolver_at(clock, *servers, answer_time=5.0)
        found: dict[HostKey, bool] = {}
        try:
            for _ in range(4):
                left = [name for name in names if not found.get(name)]
                outcomes = await asyncio.gather(*map(resolver.resolve, left))
                found |= {name: isinstance(outcome, Addresses) for name, outcome in zip(left, outcomes, strict=True)}
                if all(found.values()):
                    break
                clock.advance(Seconds(HOUR))
            return all(found.values()), resolver.statistics().failing
        finally:
            await resolver.close()

    async def case() -> list[tuple[bool, bool]]:
        slow = only(A, a(HERE))

        def zone(host: str, kind: int) -> Reply:
            return replace(slow(host, kind), delay=2.5)

        async with name_server(zone) as one, name_server(zone) as other:
            return list(await asyncio.gather(attempt(one.address), attempt(one.address, other.address)))

    assert survive(case(), asyncio.new_event_loop) == [(True, False)] * 2


def test_dn_16_a_server_that_falls_silent_and_comes_back_is_reported_once() -> None:
    async def case() -> tuple[list[bool], list[bool]]:
        zone = {"now": a(HERE)}
        reported: list[bool] = []
        failing = Reply(code=SERVFAIL)
        async with name_server(lambda host, _kind: failing if host == "ill.test" else zone["now"]) as server:
            clock = VirtualClock()
            resolver = Resolver([server.address], clock, ResolverRules(Seconds(0.3)), on_outage=reported.append)
            try:
                await resolver.resolve(HostKey("first.test"))
                clock.advance(Seconds(6.0))
                await resolver.resolve(HostKey("ill.test"))  # the name alone: other names are answered
                alone = list(reported)
                zone["now"] = SILENT
                clock.advance(Seconds(6.0))
                await down_for_half_a_minute(server.address, clock, resolver)
                zone["now"] = a(HERE)
                await seconds_until_found(clock, resolver)
                return alone, reported
            finally:
                await resolver.close()

    assert survive(case()) == ([], [True, False])


def test_dn_17_hosts_whose_name_servers_always_fail_are_given_up_and_the_crawl_ends(tmp_path: Path) -> None:
    ill = [f"h{number}.ill.test" for number in range(5)] + ["alone.bad.test"]
    rules_elsewhere = "http://b.test/"
    seeds = [HOME, rules_elsewhere, *(f"http://{host}/" for host in ill)]
    script = {HOME: html(), rules_elsewhere + "robots.txt": [redirect(seeds[-1] + "robots.txt")] * 30}

    crawl = crawled(tmp_path, script, seeds=seeds, addresses={**ADDRESSES, **dict.fromkeys(ill, UNRESOLVABLE)})

    rows = crawl.rows()
    assert rows.pop(HOME).state == "stored"
    assert {row.state for row in rows.values()} == {"dead"}
    assert {rows[url].reason for url in seeds[2:]} <= {"dns_servfail", "dns_timeout"}
    assert crawl.clock.now() - crawl.began >= HOST_PATIENCE
    assert [url for url in crawl.requests if url != HOME] == []
