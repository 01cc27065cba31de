"""The resolver against a real name server on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from gossamer.clock import VirtualClock
from gossamer.errors import ConfigError
from gossamer.fetch.dns.cache import Addresses, CacheLimits
from gossamer.fetch.dns.resolver import ResolveLater, Resolver, ResolverRules
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import HostKey, Seconds
from tests.name_server import AAAA, NXDOMAIN, REFUSED, SERVFAIL, A, NameServer, Reply, Zone, a, aaaa, name_server
from tests.time_travel import run_travelling as run

X = HostKey("x.test")


@contextlib.asynccontextmanager
async def resolving(
    zone: Zone, *, answer_time: float = 1.0, limits: CacheLimits | None = None
) -> AsyncIterator[tuple[Resolver, NameServer, VirtualClock]]:
    clock = VirtualClock()
    async with name_server(zone) as server:
        resolver = Resolver([server.address], clock, ResolverRules(Seconds(answer_time), cache=limits or CacheLimits()))
        try:
            yield resolver, server, clock
        finally:
            await resolver.close()


def resolve_once(
    zone: Zone, host: HostKey = X, answer_time: float = 1.0
) -> tuple[Addresses | Failed, list[tuple[str, int]]]:
    async def main() -> tuple[Addresses | Failed, list[tuple[str, int]]]:
        async with resolving(zone, answer_time=answer_time) as (resolver, server, _):
            return await resolver.resolve(host), server.asked

    return run(main())


def test_a_name_gives_its_addresses() -> None:
    found, asked = resolve_once(lambda _host, _kind: a("192.0.2.1", "192.0.2.2"))

    assert isinstance(found, Addresses)
    assert sorted(found.addresses) == ["192.0.2.1", "192.0.2.2"]
    assert not found.stale
    assert sorted(asked) == [("x.test", A), ("x.test", AAAA)]


def test_both_families_are_asked_for_and_ipv4_stands_first() -> None:
    found, _ = resolve_once(lambda _host, kind: aaaa("2001:db8::1", ttl=40) if kind == AAAA else a("192.0.2.1", ttl=50))

    assert isinstance(found, Addresses)
    assert found.addresses == ("192.0.2.1", "2001:db8::1")
    assert found.expires == VirtualClock().now() + 40.0


@pytest.mark.parametrize("silent", [A, AAAA])
def test_a_family_whose_question_is_not_answered_does_not_hold_up_the_other(silent: int) -> None:
    def zone(_host: str, kind: int) -> Reply:
        return Reply(silent=True) if kind == silent else a("192.0.2.1") if kind == A else aaaa("2001:db8::1")

    found, _ = resolve_once(zone, answer_time=60.0)

    assert isinstance(found, Addresses)
    assert len(found.addresses) == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(code=NXDOMAIN), Failure.DNS_NXDOMAIN),
        (Reply(code=SERVFAIL), Failure.DNS_SERVFAIL),
        (Reply(code=REFUSED), Failure.DNS_SERVFAIL),
        (Reply(), Failure.DNS_NO_ADDRESS),
        (Reply(silent=True), Failure.DNS_TIMEOUT),
    ],
)
def test_each_way_of_not_answering_has_its_name(reply: Reply, expected: Failure) -> None:
    outcome, _ = resolve_once(lambda _host, _kind: reply, answer_time=0.3)

    assert isinstance(outcome, Failed)
    assert outcome.failure is expected
    assert not outcome.contacted


def test_a_name_server_that_is_not_there_counts_as_silent() -> None:
    async def main() -> Addresses | Failed:
        resolver = Resolver(["127.0.0.1:1"], VirtualClock(), ResolverRules(Seconds(0.3)))
        try:
            return await resolver.resolve(X)
        finally:
            await resolver.close()

    outcome = run(main())

    assert isinstance(outcome, Failed)
    assert outcome.failure is Failure.DNS_TIMEOUT


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("localhost", "127.0.0.1"),
        ("a.localhost", "127.0.0.1"),
    ],
)
def test_addresses_and_localhost_are_answered_without_a_question(host: str, address: str) -> None:
    found, asked = resolve_once(lambda _host, _kind: Reply(code=NXDOMAIN), HostKey(host))

    assert isinstance(found, Addresses)
    assert found.addresses == (address,)
    assert asked == []


def test_absence_is_remembered() -> None:
    async def main() -> tuple[list[Addresses | Failed], int, int, int]:
        async with resolving(lambda _host, _kind: Reply(code=NXDOMAIN)) as (resolver, server, clock):
            outcomes = [await resolver.resolve(X) for _ in range(200)]
            within = len(server.asked)
            clock.advance(Seconds(301.0))
            await resolver.resolve(X)
            return outcomes, within, len(server.asked), resolver.statistics().negative_hits

    outcomes, within, after, negative_hits = run(main())

    assert all(isinstance(outcome, Failed) and outcome.failure is Failure.DNS_NXDOMAIN for outcome in outcomes)
    assert (within, after) == (2, 4)
    assert negative_hits == 199


def test_many_who_wait_for_one_host_cause_one_question() -> None:
    async def main() -> tuple[int, int]:
        async with resolving(lambda _host, _kind: Reply([(A, 60, "192.0.2.1")], delay=0.05)) as (resolver, server, _):
            found = await asyncio.gather(*(resolver.resolve(X) for _ in range(100)))
            return len({outcome.addresses for outcome in found if isinstance(outcome, Addresses)}), len(server.asked)

    assert run(main()) == (1, 2)


def test_one_who_stops_waiting_does_not_disturb_the_others() -> None:
    async def main() -> tuple[list[object], int]:
        async with resolving(lambda _host, _kind: Reply([(A, 60, "192.0.2.1")], delay=0.1)) as (resolver, server, _):
            waiting = [asyncio.create_task(resolver.resolve(X)) for _ in range(3)]
            await asyncio.sleep(0.02)
            waiting[0].cancel()
            return list(await asyncio.gather(*waiting, return_exceptions=True)), len(server.asked)

    (first, second, third), asked = run(main())

    assert isinstance(first, asyncio.CancelledError)
    assert isinstance(second, Addresses) and second == third
    assert asked == 2


@pytest.mark.parametrize("trouble", [Reply(code=SERVFAIL), Reply(silent=True)])
def test_an_expired_address_serves_while_dns_is_failing(trouble: Reply) -> None:
    replies = {"now": a("192.0.2.1", ttl=0)}

    async def main() -> tuple[Addresses | Failed, Addresses | Failed, int]:
        async with resolving(lambda _host, _kind: replies["now"], answer_time=0.3) as (resolver, _, clock):
            await resolver.resolve(X)
            replies["now"] = trouble
            clock.advance(Seconds(60.0))
            during = await resolver.resolve(X)
            replies["now"] = a("192.0.2.9", ttl=0)
            clock.advance(Seconds(60.0))
            return during, await resolver.resolve(X), resolver.statistics().stale_served

    during, after, stale_served = run(main())

    assert isinstance(during, Addresses) and during.stale
    assert during.addresses == ("192.0.2.1",)
    assert isinstance(after, Addresses) and not after.stale
    assert after.addresses == ("192.0.2.9",)
    assert stale_served == 1


def test_a_name_that_ceased_to_exist_is_not_served_from_memory() -> None:
    replies = {"now": a("192.0.2.1", ttl=0)}

    async def main() -> Addresses | Failed:
        async with resolving(lambda _host, _kind: replies["now"]) as (resolver, _, clock):
            await resolver.resolve(X)
            replies["now"] = Reply(code=NXDOMAIN)
            clock.advance(Seconds(60.0))
            return await resolver.resolve(X)

    outcome = run(main())

    assert isinstance(outcome, Failed)
    assert outcome.failure is Failure.DNS_NXDOMAIN


def test_no_more_names_are_looked_up_at_a_time_than_may_be_and_the_others_come_back() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with name_server(lambda _host, _kind: Reply(silent=True)) as server:
            resolver = Resolver([server.address], clock, ResolverRules(max_lookups=3))
            try:
                waiting = [asyncio.create_task(resolver.resolve(HostKey(f"{n}.test"))) for n in range(3)]
                await asyncio.sleep(0)
                outcome = await resolver.resolve(X)

                assert isinstance(outcome, ResolveLater) and outcome.until > clock.now()
                assert resolver.statistics().lookups_in_flight == 3
                assert server.questions("x.test") == 0
            finally:
                for task in waiting:
                    task.cancel()
                await resolver.close()

    run(main())


def test_what_is_cached_can_be_had_without_waiting() -> None:
    async def main() -> tuple[Addresses | None, Addresses | None, Addresses | None]:
        async with resolving(lambda _host, _kind: a("192.0.2.1", ttl=0)) as (resolver, _, clock):
            before = resolver.cached(X)
            await resolver.resolve(X)
            fresh = resolver.cached(X)
            clock.advance(Seconds(60.0))
            return before, fresh, resolver.cached(X)

    before, fresh, expired = run(main())

    assert before is None
    assert fresh is not None and fresh.addresses == ("192.0.2.1",)
    assert expired is None


def test_a_forgotten_host_is_asked_for_again_within_its_time_to_live() -> None:
    replies = {"now": a("192.0.2.1", ttl=600)}

    async def main() -> Addresses | Failed:
        async with resolving(lambda _host, _kind: replies["now"]) as (resolver, _, _clock):
            await resolver.resolve(X)
            replies["now"] = a("192.0.2.2", ttl=600)
            resolver.forget(X)
            return await resolver.resolve(X)

    found = run(main())

    assert isinstance(found, Addresses)
    assert found.addresses == ("192.0.2.2",)


@pytest.mark.parametrize("text", ["ns.example.test:53", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:x", "", ":53"])
def test_a_name_server_that_is_no_address_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigError, match="dns"):
        Resolver([text], VirtualClock())
