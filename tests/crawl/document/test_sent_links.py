"""Links that were sent to their owners before are left out of a batch, and nothing else is."""

import asyncio
from collections.abc import Sequence

from gossamer.crawl.document.known import SentLinkMemory, SentLinkTest
from gossamer.model.batch import Batch, Committed
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Fingerprint, HostKey, Url

OWN, FOREIGN = 1, 2


def partition_of(host: HostKey) -> int:
    return OWN if host.startswith("own") else FOREIGN


def new_test() -> SentLinkTest:
    return SentLinkTest(SentLinkMemory(), lambda part: part == OWN, partition_of)


def candidate(host: str, number: int, via: Via = Via.LINK) -> Candidate:
    return Candidate(Url(f"http://{host}/{number}"), HostKey(host), Fingerprint(number), 1, 0, via, 0)


def committed(*sent: int) -> Committed:
    return Committed(1, [], [], [], [], [], 0, 0, 0, 0.0, sent=[Fingerprint(number) for number in sent])


def left(test: SentLinkTest, candidates: Sequence[Candidate], received: Sequence[tuple[int, int]] = ()) -> list[int]:
    batch = Batch(candidates=list(candidates), received=list(received))
    asyncio.run(test.leave_out_sent(batch))
    return [each.fingerprint for each in batch.candidates]


def test_what_a_commit_has_sent_is_not_sent_again() -> None:
    test = new_test()
    found = [candidate("own.test", 1), candidate("other.test", 2), candidate("other.test", 3)]

    assert left(test, found) == [1, 2, 3]
    assert left(test, found) == [1, 2, 3]  # nothing was committed
    test.committed(committed(2))

    assert left(test, found) == [1, 3]
    assert (test.memory.from_memory, test.sent) == (1, 1)


def test_own_links_seeds_and_what_comes_from_an_inbox_stay() -> None:
    test = new_test()
    left(test, [])
    test.committed(committed(1, 2, 3))

    assert left(test, [candidate("own.test", 1), candidate("other.test", 2, Via.SEED)]) == [1, 2]
    assert left(test, [candidate("other.test", 3)], received=[(FOREIGN, 77)]) == [3]
    assert left(test, [candidate("other.test", 3, Via.REDIRECT)]) == []


def test_after_a_change_of_rules_nothing_counts_as_sent_not_even_what_is_being_committed() -> None:
    test = new_test()
    left(test, [])
    test.committed(committed(1))
    left(test, [candidate("other.test", 2)])
    test.clear()
    test.committed(committed(2))

    assert left(test, [candidate("other.test", 1), candidate("other.test", 2)]) == [1, 2]
