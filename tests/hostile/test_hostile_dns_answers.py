"""Answers that no honest name server gives: none of them resolves to something else, hangs, or takes others with it."""

import asyncio
import random
import struct
from collections.abc import Callable

import pytest
import uvloop

from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.cares import MAX_ADDRESSES
from gossamer.fetch.dns.resolver import ResolveLater
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import Seconds
from tests.hostile.dns_stage import stage, survive
from tests.name_server import ANSWER, POINTER_TO_QUESTION, A, Reply, Zone, a, encoded, only, question_of, record

HERE, EVIL = "192.0.2.1", "192.0.2.66"
TROUBLE = {Failure.DNS_TIMEOUT, Failure.DNS_SERVFAIL}


def message(query: bytes, *records: bytes, ident: bytes | None = None, count: int | None = None) -> bytes:
    counts = struct.pack("!HHHHH", ANSWER, 1, len(records) if count is None else count, 0, 0)
    return (query[:2] if ident is None else ident) + counts + question_of(query) + b"".join(records)


def evil(query: bytes) -> bytes:
    return message(query, record(POINTER_TO_QUESTION, A, 60, EVIL))


def wrong_id(query: bytes) -> bytes:
    return message(query, record(POINTER_TO_QUESTION, A, 60, EVIL), ident=bytes(byte ^ 0xFF for byte in query[:2]))


def wrong_question(query: bytes) -> bytes:
    question = encoded("other.test") + b"\0\1\0\1"
    packet = query[:2] + struct.pack("!HHHHH", ANSWER, 1, 1, 0, 0) + question
    return packet + record(POINTER_TO_QUESTION, A, 60, EVIL)


def a_query_again(query: bytes) -> bytes:
    return query


def noise(query: bytes) -> bytes:
    return query[:2] + random.Random(5).randbytes(400)


def pointer_to_itself(query: bytes) -> bytes:
    at = 12 + len(question_of(query))
    return message(query, struct.pack("!H", 0xC000 | at) + struct.pack("!HHIH", A, 1, 60, 4) + bytes(4))


def pointers_in_a_circle(query: bytes) -> bytes:
    at = 12 + len(question_of(query))
    owner = struct.pack("!HH", 0xC000 | (at + 2), 0xC000 | at)
    return message(query, owner + struct.pack("!HHIH", A, 1, 60, 4) + bytes(4))


def pointer_beyond_the_end(query: bytes) -> bytes:
    return message(query, b"\xff\xff" + struct.pack("!HHIH", A, 1, 60, 4) + bytes(4))


def record_longer_than_the_packet(query: bytes) -> bytes:
    return message(query, POINTER_TO_QUESTION + struct.pack("!HHIH", A, 1, 60, 65_535) + bytes(4))


def more_records_than_there_are(query: bytes) -> bytes:
    return message(query, record(POINTER_TO_QUESTION, A, 60, EVIL), count=65_535)


def address_of_three_bytes(query: bytes) -> bytes:
    return message(query, POINTER_TO_QUESTION + struct.pack("!HHIH", A, 1, 60, 3) + bytes(3))


def cut_off(query: bytes) -> bytes:
    return evil(query)[:-3]


def nothing_at_all(query: bytes) -> bytes:
    return b""


HOSTILE = [
    *(wrong_id, wrong_question, a_query_again, noise, nothing_at_all, cut_off, pointer_to_itself, pointers_in_a_circle),
    *(pointer_beyond_the_end, record_longer_than_the_packet, more_records_than_there_are, address_of_three_bytes),
]


def hostile_zone(packet: Callable[[bytes], bytes], *, then_good: bool = False) -> Zone:
    def zone(host: str, kind: int) -> Reply:
        if host == "good.test":
            return a(HERE) if kind == A else Reply()

        def packets(query: bytes) -> list[bytes]:
            good = a(HERE) if kind == A else Reply()
            return [packet(query), *(good.packets(query) if then_good else [])]

        return Reply(raw=packets)

    return zone


@pytest.mark.parametrize("packet", HOSTILE, ids=lambda packet: packet.__name__)
def test_a_hostile_packet_resolves_to_nothing(packet: Callable[[bytes], bytes]) -> None:
    async def case() -> tuple[Addresses | Failed, Addresses | Failed]:
        async with stage(hostile_zone(packet), answer_time=0.6) as crawl:
            await crawl.resolve("good.test")
            bad = await crawl.resolve("bad.test")
            crawl.clock.advance(Seconds(61.0))
            return bad, await crawl.resolve("good.test")

    bad, good = survive(case())

    # c-ares takes a query that comes back for an answer, an empty one.
    allowed = {*TROUBLE, Failure.DNS_NO_ADDRESS} if packet is a_query_again else TROUBLE
    assert isinstance(bad, Failed) and bad.failure in allowed, bad
    assert not isinstance(bad, ResolveLater)
    assert isinstance(good, Addresses) and not good.stale


@pytest.mark.parametrize("packet", [wrong_id, wrong_question, nothing_at_all], ids=lambda packet: packet.__name__)
def test_a_forged_packet_does_not_keep_the_true_answer_away(packet: Callable[[bytes], bytes]) -> None:
    async def case() -> Addresses | Failed:
        async with stage(hostile_zone(packet, then_good=True), answer_time=2.0) as crawl:
            return await crawl.resolve("bad.test")

    found = survive(case())

    assert isinstance(found, Addresses)
    assert found.addresses == (HERE,)


def test_a_hostile_packet_does_not_take_other_questions_with_it() -> None:
    """c-ares closes the socket on which it read nonsense: what else waits on it must be asked again."""

    def zone(host: str, kind: int) -> Reply:
        if host.startswith("bad"):
            return Reply(raw=lambda query: [noise(query)])
        reply = a(HERE) if kind == A else Reply()
        reply.delay = 0.1
        return reply

    async def case() -> list[bool]:
        async with stage(zone, answer_time=3.0) as crawl:
            good = [asyncio.create_task(crawl.resolve(f"good{n}.test")) for n in range(20)]
            await asyncio.sleep(0.03)
            await asyncio.gather(*(crawl.resolve(f"bad{n}.test") for n in range(3)))
            return [isinstance(outcome, Addresses) for outcome in await asyncio.gather(*good)]

    assert all(survive(case()))


def test_an_answer_cut_short_is_fetched_over_tcp() -> None:
    many = [f"192.0.2.{n}" for n in range(100)]

    async def case() -> tuple[Addresses | Failed, int]:
        reply = Reply(truncated=True, over_tcp=a(*many))
        async with stage(only(A, reply)) as crawl:
            return await crawl.resolve("long.test"), len(crawl.names.over_tcp)

    found, over_tcp = survive(case())

    assert isinstance(found, Addresses)
    assert found.addresses == tuple(many[:MAX_ADDRESSES])
    assert over_tcp == 1


def test_an_answer_that_is_cut_short_and_not_to_be_had_over_tcp_ends_in_time() -> None:
    async def case() -> Addresses | Failed:
        async with stage(only(A, Reply(truncated=True, over_tcp=Reply(silent=True))), answer_time=0.6) as crawl:
            return await crawl.resolve("long.test")

    outcome = survive(case())

    assert isinstance(outcome, Failed)
    assert outcome.failure in TROUBLE


def test_thousands_of_addresses_are_read_and_few_are_kept() -> None:
    thousands = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(4000)]

    async def case() -> Addresses | Failed:
        async with stage(only(A, Reply(truncated=True, over_tcp=a(*thousands))), answer_time=5.0) as crawl:
            return await crawl.resolve("crowd.test")

    found = survive(case())

    assert isinstance(found, Addresses)
    assert len(found.addresses) == MAX_ADDRESSES


def test_a_packet_of_sixty_kilobytes_over_udp_does_no_harm() -> None:
    def zone(_host: str, kind: int) -> Reply:
        records = [record(POINTER_TO_QUESTION, A, 60, HERE)] * 3700
        return Reply(raw=lambda query: [message(query, *records)]) if kind == A else Reply()

    async def case() -> Addresses | Failed:
        async with stage(zone) as crawl:
            return await crawl.resolve("huge.test")

    outcome = survive(case())

    # More than was offered to be read. Whether it is taken or not is c-ares' choice; it ends, and with nothing else.
    assert not isinstance(outcome, Addresses) or outcome.addresses == (HERE,)


def recursing(took: float) -> Zone:
    """A resolver that has to ask around for one name: everybody who asked meanwhile is told when it knows."""
    begun: dict[tuple[str, int], float] = {}

    def zone(host: str, kind: int) -> Reply:
        now = asyncio.get_running_loop().time()
        left = begun.setdefault((host, kind), now) + took - now if host == "slow.test" else 0.0
        return Reply([(A, 60, HERE)] if kind == A else [], delay=max(left, 0.0))

    return zone


@pytest.mark.parametrize("warm", [0, 20], ids=["unknown server", "usually quick server"])
def test_a_slow_answer_within_its_time_is_taken(warm: int) -> None:
    """c-ares adapts its patience to what a server usually takes; a name far away is not to suffer from that."""

    async def case() -> Addresses | Failed:
        async with stage(recursing(2.5), answer_time=15.0) as crawl:
            for number in range(warm):
                await crawl.resolve(f"quick{number}.test")
            return await crawl.resolve("slow.test")

    found = survive(case(), uvloop.new_event_loop)  # c-ares goes by the time of the machine

    assert isinstance(found, Addresses), found
    assert found.addresses == (HERE,)


def test_an_address_of_another_name_in_the_answer_is_not_taken() -> None:
    async def case() -> tuple[Addresses | Failed, Addresses | Failed]:
        reply = Reply(owned=[("bank.test", A, 60, EVIL)])
        async with stage(only(A, reply)) as crawl:
            return await crawl.resolve("bad.test"), await crawl.resolve("bad.test")

    outcome, again = survive(case())

    assert isinstance(outcome, Failed) and outcome.failure is Failure.DNS_NO_ADDRESS
    assert isinstance(again, Failed) and again.failure is Failure.DNS_NO_ADDRESS


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_with_random_faults_ends_as_an_answer_or_a_failure(seed: int) -> None:
    chance = random.Random(seed)

    def mutated(query: bytes) -> bytes:
        packet = bytearray(evil(query))
        for _ in range(chance.randint(1, 6)):
            packet[chance.randrange(2, len(packet))] = chance.randrange(256)
        return bytes(packet[: chance.randint(2, len(packet))])

    async def case() -> list[Addresses | Failed]:
        async with stage(hostile_zone(mutated), answer_time=0.3) as crawl:
            await crawl.resolve("good.test")
            return [await crawl.resolve(f"n{number}.d{number}x") for number in range(40)]

    outcomes = survive(case())

    assert len(outcomes) == 40
    assert all(isinstance(outcome, Failed) or len(outcome.addresses) == 1 for outcome in outcomes)
