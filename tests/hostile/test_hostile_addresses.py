"""Addresses that are written into URLs and redirects: read as what they mean, then judged. UR-08, UR-09, RD-07."""

import pytest

from gossamer.filter.canonical import Canonical, Refusal, canonicalise
from gossamer.model.outcome import Failed, Failure
from tests.hostile.dns_stage import listening, stage, survive
from tests.name_server import NXDOMAIN, Reply

LOOPBACK = ["2130706433", "0177.0.0.1", "0x7f.1", "127.1", "0x7F000001", "017700000001", "127.0.0.1.", "localhost"]
NOWHERE = ["0", "0.0.0.0", "[::]"]
INSIDE = [
    *(
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "10.0.0.1",
        "012.1",
        "192.168.0.1",
        "100.64.0.1",
        "255.255.255.255",
    ),
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
    *("[fe80::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[2001:0:7f00:1::]"),
]


def host_of(url: str) -> str:
    canonical = canonicalise(url)
    assert isinstance(canonical, Canonical), canonical
    return canonical.host


@pytest.mark.parametrize("spelling", [*LOOPBACK, *NOWHERE, *INSIDE])
def test_ur_09_and_rd_07_an_address_however_spelt_is_judged_by_what_it_means(spelling: str) -> None:
    async def case() -> tuple[Failure, int, int]:
        with listening("127.0.0.1") as four, listening("::1", four.port) as six:
            async with stage(lambda _host, _kind: Reply(code=NXDOMAIN)) as crawl:
                outcome = await crawl.visit(host_of(f"http://{spelling}:{four.port}/x"), four.port)
                assert isinstance(outcome, Failed), outcome
                return outcome.failure, four.visitors + six.visitors, len(crawl.names.asked)

    assert survive(case()) == (Failure.BLOCKED_ADDRESS, 0, 0)


@pytest.mark.parametrize("spelling", LOOPBACK[:6])
def test_ur_09_the_odd_spellings_of_an_address_are_one_host(spelling: str) -> None:
    assert host_of(f"http://{spelling}/") == "127.0.0.1"


def test_ur_08_an_ipv6_address_is_parsed_and_then_judged() -> None:
    assert host_of("http://[2001:db8::1]/") == "[2001:db8::1]"


@pytest.mark.parametrize(
    "url", ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1", "http://[h].test/"]
)
def test_ur_08_what_is_no_address_in_brackets_is_a_bad_url(url: str) -> None:
    refused = canonicalise(url)

    assert isinstance(refused, Refusal)
    assert refused.reason == "bad_url"


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1/", "http://169.254.169.254/latest/", "//[::1]/", "//[::ffff:10.0.0.1]/"]
)
def test_rd_07_the_target_of_a_redirect_is_judged_like_any_other(target: str) -> None:
    canonical = canonicalise(target, "http://x.test/a")
    assert isinstance(canonical, Canonical)

    async def case() -> tuple[Failure, int]:
        with listening("127.0.0.1") as four, listening("::1", four.port) as six:
            async with stage(lambda _host, _kind: Reply(code=NXDOMAIN), "127.0.7.0/24") as crawl:
                outcome = await crawl.visit(canonical.host, four.port)
                assert isinstance(outcome, Failed), outcome
                return outcome.failure, four.visitors + six.visitors

    assert survive(case()) == (Failure.BLOCKED_ADDRESS, 0)
