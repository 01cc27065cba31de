"""The contact journal: what no commit knows of is found after a crash, in every backend."""

import random

from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, Instant
from gossamer.store.ports import ContactJournal

A, B, C = HostId(1), HostId(2), HostId(3)
V4, V6 = "192.0.2.7", "2001:db8::7"


def test_a_new_journal_knows_no_contact(journal: ContactJournal) -> None:
    assert journal.last_contacts() == {}
    journal.begin()
    assert journal.last_contacts() == {}
    journal.close()


def test_contacts_are_known_open_or_finished(journal: ContactJournal) -> None:
    journal.begin()
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.started(B, Instant(11.0), 0.1, V6)
    journal.finished(A, Instant(16.0), 0.6, V4)

    assert journal.last_contacts() == {
        A: LastContact(None, Instant(16.0), 0.6, V4),
        B: LastContact(Instant(11.0), Instant(0.0), 0.1, V6),
    }
    journal.close()


def test_what_is_committed_is_forgotten_and_what_is_open_is_not(journal: ContactJournal) -> None:
    journal.begin()
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.finished(A, Instant(16.0), 0.6, V4)
    journal.started(B, Instant(11.0), 0.5, V4)
    journal.turn_over([(B, Instant(11.0), 0.5, V4)])
    journal.finished(B, Instant(20.0), 0.5, V4)  # after the turn-over: its batch is the next one
    journal.started(C, Instant(12.0), 0.5, V4)
    assert journal.last_contacts().keys() == {A, B, C}

    journal.forget()

    assert journal.last_contacts() == {
        B: LastContact(None, Instant(20.0), 0.5, V4),
        C: LastContact(Instant(12.0), Instant(0.0), 0.5, V4),
    }
    journal.close()


def test_closing_keeps_what_no_commit_knows_and_clearing_does_not(journal: ContactJournal) -> None:
    journal.begin()
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.close()
    assert journal.last_contacts() == {A: LastContact(Instant(10.0), Instant(0.0), 0.5, V4)}

    journal.clear()
    assert journal.last_contacts() == {}


def test_a_journal_that_begins_again_is_empty(journal: ContactJournal) -> None:
    journal.begin()
    journal.turn_over([(A, Instant(10.0), 0.5, V4)])
    journal.close()

    journal.begin()
    assert journal.last_contacts() == {}
    journal.started(B, Instant(11.0), 0.5, V4)
    assert journal.last_contacts().keys() == {B}
    journal.close()


def test_after_any_sequence_nothing_is_lost_that_is_not_committed(journal: ContactJournal) -> None:
    """A model: per host the contacts since the last turn-over that a `forget` followed, and those that are open."""
    chance = random.Random(7)
    journal.begin()
    open_contacts: dict[HostId, tuple[Instant, float, str]] = {}
    recent: dict[HostId, LastContact] = {}
    older: dict[HostId, LastContact] = {}
    for step in range(2000):
        now, host_id = Instant(float(step)), HostId(chance.randint(1, 9))
        what = chance.random()
        if what < 0.9 and host_id not in open_contacts:
            journal.started(host_id, now, 0.5, V4)
            open_contacts[host_id] = (now, 0.5, V4)
        elif what < 0.9:
            journal.finished(host_id, Instant(now + 5), 0.25, V6)
            del open_contacts[host_id]
            recent[host_id] = LastContact(None, Instant(now + 5), 0.25, V6)
        elif what < 0.95:
            journal.turn_over([(host_id, *contact) for host_id, contact in open_contacts.items()])
            older, recent = recent, {}
        else:
            journal.forget()
            older = {}
        known = journal.last_contacts()
        assert known.keys() == open_contacts.keys() | recent.keys() | older.keys()
        for host_id, contact in known.items():
            finished = recent.get(host_id) or older.get(host_id)
            assert contact.started == (open_contacts[host_id][0] if host_id in open_contacts else None)
            assert contact.next_contact == (finished.next_contact if finished else 0.0)
    journal.close()
