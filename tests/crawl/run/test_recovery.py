"""Recovery: after a crash, hosts and addresses are left alone as if the last request had just ended."""

from gossamer.crawl.run.recovery import RecoveredContacts, recover_contacts
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, Instant, Seconds

NOW = Instant(1_700_000_000.0)
POLICY = PolitenessPolicy(min_delay=Seconds(1.0), load_factor=10.0, max_adaptive_delay=Seconds(30.0))
A, B = HostId(1), HostId(2)
HERE, THERE = "192.0.2.1", "192.0.2.2"
NEVER = Instant(0.0)


def recovered(
    contacts: dict[HostId, LastContact], known: dict[HostId, tuple[Instant, Seconds | None]] | None = None
) -> RecoveredContacts:
    return recover_contacts(contacts, POLICY, NOW, lambda host_id: (known or {}).get(host_id, (NEVER, None)))


def ended(next_contact: float, took: float = 0.2, address: str = HERE) -> LastContact:
    return LastContact(None, Instant(NOW + next_contact), took, address)


def in_flight(since: float, took: float = 0.0, address: str = HERE, next_contact: Instant = NEVER) -> LastContact:
    """A request was sent `since` seconds ago; nothing is known of its end."""
    return LastContact(Instant(NOW - since), next_contact, took, address)


def test_without_contacts_nothing_rests() -> None:
    assert recovered({}) == RecoveredContacts([], {})


def test_a_contact_that_ended_keeps_the_gap_that_was_noted() -> None:
    clocks, addresses = recovered({A: ended(4.0)})

    assert [(clock.host_id, clock.next_contact, clock.last_took, clock.address) for clock in clocks] == [
        (A, NOW + 4.0, 0.2, HERE)
    ]
    assert addresses == {HERE: NOW + 4.0}


def test_the_reason_of_the_rest_says_that_there_was_a_crash() -> None:
    clocks, _ = recovered({A: ended(4.0)})

    assert clocks[0].rest_reason == "a contact before a crash"


def test_recovery_leaves_addresses_and_breaker_state_on_record_as_they_are() -> None:
    clocks, _ = recovered({A: ended(4.0)})

    assert (clocks[0].resolved, clocks[0].failures) == (None, None)


def test_a_longer_rest_on_record_outlasts_the_journal() -> None:
    clocks, addresses = recovered({A: ended(4.0)}, {A: (Instant(NOW + 60.0), None)})

    assert clocks[0].next_contact == NOW + 60.0
    assert addresses == {HERE: NOW + 60.0}


def test_a_shorter_rest_on_record_does_not_shorten_the_one_in_the_journal() -> None:
    clocks, _ = recovered({A: ended(4.0)}, {A: (Instant(NOW + 1.0), None)})

    assert clocks[0].next_contact == NOW + 4.0


def test_a_request_in_flight_is_taken_to_have_ended_now() -> None:
    clocks, addresses = recovered({A: in_flight(since=0.05)})

    assert clocks[0].next_contact == NOW + POLICY.min_delay
    assert addresses == {HERE: NOW + POLICY.min_delay}


def test_a_request_in_flight_is_taken_to_have_lasted_until_now() -> None:
    clocks, _ = recovered({A: in_flight(since=2.0)})

    assert clocks[0].next_contact == NOW + 20.0


def test_a_request_in_flight_is_taken_to_be_as_slow_as_the_one_before() -> None:
    clocks, _ = recovered({A: in_flight(since=0.1, took=1.5)})

    assert clocks[0].next_contact == NOW + 15.0


def test_a_request_in_flight_for_days_is_bounded_by_the_adaptive_delay() -> None:
    clocks, _ = recovered({A: in_flight(since=200_000.0)})

    assert clocks[0].next_contact == NOW + POLICY.max_adaptive_delay


def test_a_request_in_flight_is_followed_by_the_crawl_delay_on_record() -> None:
    clocks, _ = recovered({A: in_flight(since=0.1)}, {A: (NEVER, Seconds(50.0))})

    assert clocks[0].next_contact == NOW + 50.0


def test_a_request_in_flight_does_not_shorten_the_gap_of_the_one_before() -> None:
    clocks, _ = recovered({A: in_flight(since=0.1, next_contact=Instant(NOW + 90.0))})

    assert clocks[0].next_contact == NOW + 90.0


def test_a_clock_that_was_set_back_keeps_the_minimum_delay() -> None:
    clocks, _ = recovered({A: in_flight(since=-1000.0)})

    assert clocks[0].next_contact == NOW + POLICY.min_delay


def test_an_address_rests_as_long_as_the_last_of_its_hosts() -> None:
    for contacts in ({A: ended(4.0), B: ended(9.0)}, {A: ended(9.0), B: ended(4.0)}):
        clocks, addresses = recovered(contacts)

        assert {clock.host_id: clock.next_contact - NOW for clock in clocks} == {
            host_id: contact.next_contact - NOW for host_id, contact in contacts.items()
        }
        assert addresses == {HERE: NOW + 9.0}


def test_hosts_on_different_addresses_do_not_concern_each_other() -> None:
    _, addresses = recovered({A: ended(4.0), B: ended(9.0, address=THERE)})

    assert addresses == {HERE: NOW + 4.0, THERE: NOW + 9.0}


def test_recovering_twice_gives_the_same_as_recovering_once() -> None:
    contacts = {A: ended(4.0), B: in_flight(since=1.0, address=THERE)}
    first = recovered(contacts)

    again = recovered(contacts, {clock.host_id: (clock.next_contact, None) for clock in first.clocks})

    assert again == first
