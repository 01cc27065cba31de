"""What the records of an answer say, without a name server."""

import pycares
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.cares import MAX_ADDRESSES, Alias, DnsFailure, Found, Reply, merge_replies, read_reply
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds
from tests.table import table

A, CNAME, AAAA = pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_CNAME, pycares.QUERY_TYPE_AAAA

FOUR = Found(("192.0.2.1",), Seconds(60.0))
SIX = Found(("2001:db8::1",), Seconds(40.0))
NOTHING, NOBODY, LOOP = Failure.DNS_NO_ADDRESS, Failure.DNS_NXDOMAIN, Failure.DNS_CNAME_LOOP


def address(owner: str, value: str, ttl: int = 60) -> pycares.DNSRecord:
    data: pycares.ARecordData | pycares.AAAARecordData
    if ":" in value:
        data, kind = pycares.AAAARecordData(value), AAAA
    else:
        data, kind = pycares.ARecordData(value), A
    return pycares.DNSRecord(owner, kind, 1, ttl, data)


def alias(owner: str, target: str, ttl: int = 60) -> pycares.DNSRecord:
    return pycares.DNSRecord(owner, CNAME, 1, ttl, pycares.CNAMERecordData(target))


def test_the_addresses_of_the_name_are_found_once_each() -> None:
    records = [address("x.test", "192.0.2.1"), address("x.test", "192.0.2.2"), address("x.test", "192.0.2.1")]

    assert read_reply("x.test", A, records) == Found(("192.0.2.1", "192.0.2.2"), Seconds(60.0))


@pytest.mark.parametrize("owner", ["X.Test", "x.test.", "X.TEST."])
def test_names_are_compared_as_dns_does(owner: str) -> None:
    assert read_reply("x.test", A, [address(owner, "192.0.2.1")]) == FOUR


def test_a_name_that_c_ares_escapes_is_recognised() -> None:
    assert read_reply("a$b.test", A, [address("a\\$b.test", "192.0.2.1")]) == FOUR
    assert read_reply("a\x80.test", A, [address("a\\128.test", "192.0.2.1")]) == FOUR


def test_addresses_of_other_names_are_left_alone() -> None:
    assert read_reply("x.test", A, [address("evil.test", "192.0.2.66")]) is NOTHING


def test_addresses_of_the_other_family_are_left_alone() -> None:
    assert read_reply("x.test", A, [address("x.test", "2001:db8::1")]) is NOTHING


def test_aliases_are_followed_in_whatever_order_they_stand() -> None:
    records = [address("c.test", "192.0.2.1", 300), alias("b.test", "c.test", 50), alias("x.test", "b.test", 70)]

    assert read_reply("x.test", A, records) == Found(("192.0.2.1",), Seconds(50.0))


def test_an_alias_without_an_address_is_to_be_followed_elsewhere() -> None:
    found = read_reply("x.test", A, [alias("x.test", "b.test", 70), alias("b.test", "c.test", 50)])

    assert found == Alias("c.test", frozenset(("x.test", "b.test")), Seconds(50.0))


@pytest.mark.parametrize(
    "records",
    [
        [alias("x.test", "x.test")],
        [alias("x.test", "b.test"), alias("b.test", "x.test")],
        [alias("x.test", "b.test"), alias("b.test", "c.test"), alias("c.test", "b.test")],
        [alias("x.test" if n == 0 else f"h{n}.test", f"h{n + 1}.test") for n in range(20)],
    ],
)
def test_aliases_in_a_circle_and_endless_ones_have_a_name(records: list[pycares.DNSRecord]) -> None:
    assert read_reply("x.test", A, records) is LOOP


def test_no_more_addresses_are_kept_than_anybody_would_dial() -> None:
    found = read_reply("x.test", A, [address("x.test", f"10.0.{n >> 8}.{n & 255}") for n in range(4000)])

    assert isinstance(found, Found)
    assert len(found.addresses) == MAX_ADDRESSES


@pytest.mark.parametrize(("ttl", "meant"), [(0, 0.0), (2**31 - 1, 2.0**31 - 1), (2**31, 0.0), (2**32 - 1, 0.0)])
def test_a_time_to_live_with_its_highest_bit_set_means_none(ttl: int, meant: float) -> None:
    found = read_reply("x.test", A, [address("x.test", "192.0.2.1", ttl)])

    assert found == Found(("192.0.2.1",), Seconds(meant))


def test_both_families_are_joined_with_ipv4_first_and_the_shorter_time() -> None:
    assert merge_replies(FOUR, SIX) == Found(("192.0.2.1", "2001:db8::1"), Seconds(40.0))


@table("other", [NOTHING, NOBODY, LOOP, *DnsFailure, Alias("b.test", frozenset(("x.test",)), Seconds(1.0))])
def test_addresses_of_one_family_are_enough(other: Reply) -> None:
    assert merge_replies(FOUR, other) == FOUR
    assert merge_replies(other, SIX) == SIX


@pytest.mark.parametrize("trouble", list(DnsFailure))
def test_no_address_is_believed_only_when_both_say_so(trouble: DnsFailure) -> None:
    assert merge_replies(NOTHING, NOTHING) is NOTHING
    assert merge_replies(NOTHING, trouble) is trouble
    assert merge_replies(trouble, NOTHING) is trouble


def test_what_a_server_said_is_reported_before_what_none_did() -> None:
    assert merge_replies(DnsFailure.SILENT, DnsFailure.SERVFAIL) is DnsFailure.SERVFAIL
    assert merge_replies(DnsFailure.UNREACHABLE, DnsFailure.SILENT) is DnsFailure.SILENT


NAMES = st.sampled_from([f"{letter}.test" for letter in "xabcdef"])


@given(
    st.lists(
        st.builds(alias, NAMES, NAMES, st.integers(0, 2**32 - 1))
        | st.builds(address, NAMES, st.ip_addresses().map(str), st.integers(0, 2**32 - 1)),
        max_size=60,
    )
)
def test_no_answer_makes_reading_hang_or_raise(records: list[pycares.DNSRecord]) -> None:
    found = read_reply("x.test", A, records)

    if isinstance(found, Found):
        assert 0 < len(found.addresses) <= MAX_ADDRESSES
        assert all(":" not in address for address in found.addresses)
        assert 0 <= found.ttl < 2**31
