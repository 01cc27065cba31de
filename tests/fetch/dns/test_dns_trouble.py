"""The resolver while name servers fail: several of them, sick ones, names that get no answer, restarts."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest

from gossamer.clock import VirtualClock
from gossamer.fetch.dns.backoff import BackoffRules
from gossamer.fetch.dns.cache import Addresses, StoredAnswer
from gossamer.fetch.dns.resolver import ResolveLater, Resolver, ResolverRules
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import Domain, HostKey, Instant, Seconds
from tests.name_server import AAAA, REFUSED, SERVFAIL, A, NameServer, Reply, Zone, a, name_server
from tests.time_travel import run_travelling as run

X, Y, GOOD = HostKey("x.test"), HostKey("y.test"), HostKey("good.test")
SILENT, FAILING = Reply(silent=True), Reply(code=SERVFAIL)
NOWHERE = "127.0.0.1:1"


def resolver_at(
    *servers: str,
    clock: VirtualClock | None = None,
    answer_time: float = 0.3,
    domain_of: bool = False,
) -> Resolver:
    return Resolver(
        servers,
        clock or VirtualClock(),
        ResolverRules(answer_time=Seconds(answer_time), backoff=BackoffRules(jitter=0.0)),
        chance=random.Random(3),
        domain_of=(lambda host: Domain(".".join(host.split(".")[-2:]))) if domain_of else None,
    )


@contextlib.asynccontextmanager
async def resolving(
    zone: Zone, *, answer_time: float = 0.3, domain_of: bool = False
) -> AsyncIterator[tuple[Resolver, NameServer, VirtualClock]]:
    clock = VirtualClock()
    async with name_server(zone) as server:
        resolver = resolver_at(server.address, clock=clock, answer_time=answer_time, domain_of=domain_of)
        try:
            yield resolver, server, clock
        finally:
            await resolver.close()


def trouble_for(name: str, trouble: Reply) -> Zone:
    return lambda host, _kind: trouble if host.startswith(name) else a("192.0.2.1", ttl=0)


# --- several servers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [SILENT, FAILING, Reply(code=REFUSED)])
def test_another_server_is_asked_where_one_fails(trouble: Reply) -> None:
    async def main() -> Addresses | Failed:
        async with name_server(lambda _host, _kind: trouble) as bad, name_server(lambda _h, _k: a("192.0.2.1")) as good:
            resolver = resolver_at(bad.address, good.address)
            try:
                return await resolver.resolve(X)
            finally:
                await resolver.close()

    found = run(main())

    assert isinstance(found, Addresses)
    assert found.addresses == ("192.0.2.1",)


@pytest.mark.parametrize("trouble", [SILENT, FAILING, Reply(code=REFUSED)])
def test_a_server_that_fails_where_another_answers_is_soon_avoided(trouble: Reply) -> None:
    async def main() -> tuple[int, int, int]:
        async with name_server(lambda _host, _kind: trouble) as bad, name_server(lambda _h, _k: a("192.0.2.1")) as good:
            resolver = resolver_at(bad.address, good.address)
            try:
                for number in range(10):
                    assert isinstance(await resolver.resolve(HostKey(f"h{number}.test")), Addresses)
                names = {name for name, _ in bad.asked}
                return len(names), len({name for name, _ in good.asked}), resolver.statistics().servers_avoided
            finally:
                await resolver.close()

    assert run(main()) == (2, 10, 1)


def test_a_server_that_is_not_there_costs_no_time_and_is_avoided() -> None:
    async def main() -> tuple[list[bool], int]:
        async with name_server(lambda _h, _k: a("192.0.2.1")) as good:
            resolver = resolver_at(NOWHERE, good.address, answer_time=300.0)
            try:
                found = [await resolver.resolve(HostKey(f"h{number}.test")) for number in range(5)]
                return [isinstance(one, Addresses) for one in found], resolver.statistics().servers_avoided
            finally:
                await resolver.close()

    assert run(main()) == ([True] * 5, 1)


def test_a_name_that_all_servers_fail_for_is_held_against_none_of_them() -> None:
    async def main() -> tuple[int, int]:
        zone = trouble_for("dead", FAILING)
        async with name_server(zone) as one, name_server(zone) as other:
            resolver = resolver_at(one.address, other.address)
            try:
                await resolver.resolve(GOOD)
                for number in range(3):
                    await resolver.resolve(HostKey(f"dead{number}.test"))
                await resolver.resolve(X)
                return resolver.statistics().servers_avoided, other.questions(X)
            finally:
                await resolver.close()

    assert run(main()) == (0, 0)


def test_a_servfail_is_not_asked_for_again_at_the_same_server() -> None:
    async def main() -> list[tuple[str, int]]:
        async with resolving(trouble_for("dead", FAILING)) as (resolver, server, _):
            await resolver.resolve(GOOD)
            await resolver.resolve(HostKey("dead.test"))
            return [asked for asked in server.asked if asked[0] == "dead.test"]

    assert sorted(run(main())) == [("dead.test", A), ("dead.test", AAAA)]


# --- names that get no answer -------------------------------------------------------------------------


def test_a_name_that_failed_is_put_off_and_comes_back() -> None:
    zone = {"now": FAILING}

    async def main() -> tuple[list[object], int, object]:
        async with resolving(lambda host, _k: zone["now"] if host == X else a("192.0.2.1")) as (
            resolver,
            server,
            clock,
        ):
            await resolver.resolve(GOOD)
            outcomes: list[object] = []
            for wait in (0.0, 20.0, 11.0, 50.0, 11.0):
                clock.advance(Seconds(wait))
                outcomes.append(await resolver.resolve(X))
            questions = server.questions(X)
            zone["now"] = a("192.0.2.9")
            clock.advance(Seconds(121.0))
            return outcomes, questions, await resolver.resolve(X)

    outcomes, questions, healed = run(main())

    assert [type(outcome) for outcome in outcomes] == [Failed, ResolveLater, Failed, ResolveLater, Failed]
    assert all(isinstance(o, Failed) and o.failure is Failure.DNS_SERVFAIL and not o.contacted for o in outcomes)
    assert questions == 6
    assert isinstance(healed, Addresses) and healed.addresses == ("192.0.2.9",)


def test_who_is_put_off_is_told_when_to_come_back() -> None:
    async def main() -> tuple[Addresses | Failed, Instant]:
        async with resolving(trouble_for("x", FAILING)) as (resolver, _, clock):
            await resolver.resolve(GOOD)
            await resolver.resolve(X)
            return await resolver.resolve(X), clock.now()

    outcome, now = run(main())

    assert isinstance(outcome, ResolveLater)
    assert outcome.until == now + 30.0


def test_a_domain_whose_names_all_fail_is_not_asked_about_for_a_while() -> None:
    async def main() -> tuple[set[str], list[bool], bool]:
        async with resolving(trouble_for("d", FAILING), domain_of=True) as (resolver, server, clock):
            await resolver.resolve(GOOD)
            put_off = []
            for number in range(20):
                outcome = await resolver.resolve(HostKey(f"d{number}.dead.test"))
                put_off.append(isinstance(outcome, ResolveLater))
                await resolver.resolve(HostKey(f"{number}.alive.test"))
            asked = {name for name, _ in server.asked if name.startswith("d")}
            clock.advance(Seconds(31.0))
            return asked, put_off, isinstance(await resolver.resolve(HostKey("d19.dead.test")), ResolveLater)

    asked, put_off, after = run(main())

    assert asked == {"d0.dead.test", "d1.dead.test", "d2.dead.test"}
    assert put_off == [False] * 3 + [True] * 17
    assert not after


# --- a sick resolver ----------------------------------------------------------------------------------


def test_while_the_resolver_is_sick_known_hosts_go_on_and_new_ones_wait() -> None:
    zone = {"now": a("192.0.2.1", ttl=0)}

    async def main() -> tuple[object, object, object, object, int]:
        async with resolving(lambda _host, _kind: zone["now"]) as (resolver, server, clock):
            await resolver.resolve(X)
            clock.advance(Seconds(100.0))
            zone["now"] = SILENT
            first = await resolver.resolve(Y)
            asked = len(server.asked)
            known = await resolver.resolve(X)
            new = [await resolver.resolve(HostKey(f"new{number}.test")) for number in range(50)]
            more = len(server.asked) - asked
            zone["now"] = a("192.0.2.7", ttl=0)
            clock.advance(Seconds(3.0))
            return first, known, new, await resolver.resolve(Y), more

    first, known, new, healed, more = run(main())

    assert isinstance(first, ResolveLater) and first.failure is Failure.DNS_TIMEOUT
    assert isinstance(known, Addresses) and known.stale and known.addresses == ("192.0.2.1",)
    assert isinstance(new, list) and all(isinstance(outcome, ResolveLater) for outcome in new)
    assert more == 0
    assert isinstance(healed, Addresses) and not healed.stale


@pytest.mark.parametrize("sick", [True, False])
def test_a_name_half_of_whose_answer_was_lost_while_the_resolver_was_sick_is_not_blamed(sick: bool) -> None:
    def zone(host: str, kind: int) -> Reply:
        return a("192.0.2.1") if host == GOOD else SILENT if kind == A else Reply()

    async def main() -> tuple[Addresses | Failed, Instant]:
        async with resolving(zone) as (resolver, server, clock):
            await resolver.resolve(GOOD)
            waiting = asyncio.create_task(resolver.resolve(X))
            while not server.questions(X):  # noqa: ASYNC110 - the server has no event to wait for
                await asyncio.sleep(0)
            if sick:  # other names find out that nobody answers, and then that somebody does again
                for _ in range(2):
                    resolver._breaker.on_no_answer(clock.now(), unreachable=True)
                clock.advance(Seconds(1.0))
                resolver._breaker.on_answer(clock.now())
            return await waiting, clock.now()

    outcome, now = run(main())

    assert isinstance(outcome, Failed) and outcome.failure is Failure.DNS_TIMEOUT
    assert isinstance(outcome, ResolveLater) is sick
    assert not isinstance(outcome, ResolveLater) or outcome.until < now + 5.0


def test_a_sick_resolver_is_asked_one_probe_at_a_time() -> None:
    async def main() -> tuple[int, int, bool, bool]:
        async with resolving(lambda _host, _kind: SILENT) as (resolver, server, clock):
            await resolver.resolve(X)
            began = len({name for name, _ in server.asked})
            for _ in range(10):
                clock.advance(Seconds(2.1))
                names = [HostKey(f"n{number}.test") for number in range(30)]
                await asyncio.gather(*(resolver.resolve(name) for name in names))
            asked = len({name for name, _ in server.asked}) - began
            return (
                resolver.statistics().probes,
                asked,
                resolver.statistics().failing,
                "" in {n for n, _ in server.asked},
            )

    probes, names, is_sick, root_asked = run(main())

    assert probes == 11
    assert names <= 10
    assert is_sick
    assert root_asked


def test_a_name_whose_servers_are_dead_is_not_taken_for_a_sick_resolver_even_at_the_start() -> None:
    async def main() -> tuple[object, bool]:
        async with resolving(lambda host, _kind: FAILING if host == X else Reply(code=3)) as (resolver, _, _clock):
            return await resolver.resolve(X), resolver.statistics().failing

    outcome, is_sick = run(main())

    assert type(outcome) is Failed and outcome.failure is Failure.DNS_SERVFAIL
    assert not is_sick


def test_a_crowd_of_dead_names_costs_one_probe_and_no_healthy_name_waits() -> None:
    def zone(host: str, _kind: int) -> Reply:
        return SILENT if host.startswith("dead") else a("192.0.2.1")

    async def main() -> tuple[set[type], set[type], int, bool]:
        async with resolving(zone) as (resolver, _, clock):
            await resolver.resolve(GOOD)
            clock.advance(Seconds(6.0))
            dead = await asyncio.gather(*(resolver.resolve(HostKey(f"dead{n}.test")) for n in range(200)))
            new = [await resolver.resolve(HostKey(f"new{number}.test")) for number in range(50)]
            statistics = resolver.statistics()
            return {type(one) for one in dead}, {type(one) for one in new}, statistics.probes, statistics.failing

    assert run(main()) == ({Failed}, {Addresses}, 1, False)


def test_a_resolver_that_died_is_found_out_though_its_old_names_died_with_it() -> None:
    zone = {"now": a("192.0.2.1", ttl=0)}

    async def main() -> object:
        async with resolving(lambda host, _kind: SILENT if host in ("", GOOD) else zone["now"]) as (resolver, _, clock):
            await resolver.resolve(X)
            zone["now"] = SILENT
            clock.advance(Seconds(60.0))
            await resolver.resolve(Y)
            assert resolver.statistics().failing
            zone["now"] = Reply(code=3)  # every name is gone, but somebody says so
            clock.advance(Seconds(3.0))
            return await resolver.resolve(Y)

    outcome = run(main())

    assert type(outcome) is Failed and outcome.failure is Failure.DNS_NXDOMAIN


# --- over a restart -----------------------------------------------------------------------------------


def test_what_was_known_before_a_restart_is_not_asked_for_again() -> None:
    async def main() -> tuple[object, int]:
        async with name_server(lambda _host, _kind: a("192.0.2.1", ttl=600)) as server:
            clock = VirtualClock()
            before = resolver_at(server.address, clock=clock)
            await before.resolve(X)
            stored = before.last_good(X)
            await before.close()
            assert stored is not None
            text = stored.to_text()
            server.asked.clear()
            clock.advance(Seconds(300.0))
            recalled = StoredAnswer.from_text(text)
            assert recalled is not None
            resolver = resolver_at(server.address, clock=clock)
            resolver.restore(X, recalled)
            try:
                return await resolver.resolve(X), len(server.asked)
            finally:
                await resolver.close()

    outcome, asked = run(main())

    assert isinstance(outcome, Addresses) and not outcome.stale and outcome.addresses == ("192.0.2.1",)
    assert asked == 0


def test_a_restart_while_dns_is_down_goes_on_with_the_hosts_of_yesterday() -> None:
    async def main() -> tuple[object, object]:
        clock = VirtualClock()
        resolver = resolver_at(NOWHERE, clock=clock)
        resolver.restore(X, StoredAnswer(("192.0.2.1",), Instant(clock.now() - 3600.0)))
        try:
            return await resolver.resolve(X), await resolver.resolve(Y)
        finally:
            await resolver.close()

    known, new = run(main())

    assert isinstance(known, Addresses) and known.stale
    assert isinstance(new, ResolveLater)
