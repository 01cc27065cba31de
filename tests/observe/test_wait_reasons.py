"""What a crawl is waiting for, as text."""

from gossamer.model.units import Instant
from gossamer.observe.wait_reasons import Waits, waiting_for
from tests.table import table

NOW = Instant(1_700_000_000.0)


@table(
    ("waits", "said"),
    [
        (Waits(), ""),
        (Waits(ready_hosts=1, resting_hosts=8, next_contact=NOW), ""),
        (Waits(in_flight=1), "1 visit in flight"),
        (Waits(in_flight=3, unread=2), "3 visits in flight"),
        (Waits(unread=2), "2 documents to be processed"),
        (Waits(resting_hosts=1, next_contact=Instant(NOW + 3.2)), "the delay of 1 host (ready in 3.2 s)"),
        (Waits(resting_hosts=12, next_contact=Instant(NOW + 3.2)), "the delay of 12 hosts (first ready in 3.2 s)"),
        (Waits(retries=1, next_retry=Instant(NOW + 8)), "1 retry (due in 8.0 s)"),
        (Waits(retries=5, next_retry=Instant(NOW + 4000)), "5 retries (next due in 1:06:40)"),
        (Waits(retries=None, next_retry=Instant(NOW - 1)), "retries (next due in 0.0 ms)"),
        (Waits(recrawls=7, next_recrawl=NOW, missing=3, next_missing=NOW), ""),
        (Waits(in_flight=None, due=4), ""),
        (Waits(resting_hosts=1000, hosts_counted_to=1000), "the delay of 1,000 or more hosts"),
        (Waits(retries=99, urls_counted_to=99), "99 or more retries"),
        (Waits(ready_hosts=1, dns_failing=True), "name servers (DNS is failing; new hosts wait)"),
        (Waits(in_flight=1, dns_failing=True), "name servers (DNS is failing; new hosts wait), 1 visit in flight"),
        (Waits(ready_hosts=1, store_failing=True), "the store (commits are failing)"),
        (Waits(ready_hosts=1, store_slow=True), "the store (slow commit)"),
        (Waits(ready_hosts=1, paused=True), "resume (the crawl is paused)"),
    ],
)
def test_each_kind_has_its_text(waits: Waits, said: str) -> None:
    assert waiting_for(waits, NOW) == said


def test_several_kinds_are_listed() -> None:
    waits = Waits(in_flight=2, resting_hosts=3, next_contact=Instant(NOW + 1), retries=1, next_retry=Instant(NOW + 20))

    assert (
        waiting_for(waits, NOW)
        == "2 visits in flight, the delay of 3 hosts (first ready in 1.0 s), 1 retry (due in 20.0 s)"
    )
