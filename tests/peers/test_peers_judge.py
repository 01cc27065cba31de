"""The judge of the comparison with other crawlers, on records made up for it: it finds each fault, and nothing else."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.peers.crawlers import HashedFiles
from benchmarks.peers.judge import LENIENCE, ROBOTS, Expected, Finding, judge, tally
from benchmarks.peers.match import Result
from benchmarks.peers.report import COLUMNS, as_json, markdown, plain
from benchmarks.peers.rounds import ROUNDS
from benchmarks.peers.running import End, Usage
from benchmarks.peers.trouble import DAMAGED, DAMAGES, SILENT, TroubledWeb, pages
from gossamer.lab.simweb.server import Request
from gossamer.model.units import HostKey, Instant, Seconds

HOST = "a.test"
URL = f"http://{HOST}:8080"
PAGES = frozenset({f"{URL}/", f"{URL}/1", f"{URL}/2"})
EXPECTED = Expected(pages=PAGES, forbidden=frozenset({f"{URL}/secret"}), delay=1.0)


def asked(
    target: str, at: float, *, host: str = HOST, status: int = 200, took: float = 0.1, wait: float = 0.0
) -> Request:
    read, written = Instant(100.0 + at), Instant(100.0 + at + took)
    return Request(HostKey(host), target, status, read, written, 1, "127.1.0.1", Seconds(wait))


GOOD = [asked(ROBOTS, 0.0), asked("/", 1.0), asked("/1", 2.0), asked("/2", 3.0)]


def faults(requests: list[Request], stored: frozenset[str] = PAGES, expected: Expected = EXPECTED) -> Counter[Finding]:
    return tally(judge(requests, stored, expected))


def test_a_complete_and_polite_crawl_has_no_faults_whatever_the_order_of_the_record() -> None:
    assert faults(GOOD) == faults(GOOD[::-1]) == Counter()


@pytest.mark.parametrize(
    ("finding", "further"),
    [
        (Finding.TWICE, asked("/1", 4.0)),
        (Finding.FORBIDDEN, asked("/secret", 4.0, status=404)),
        (Finding.BEFORE_ROBOTS, asked("/other", -2.0)),
        (Finding.TOO_SOON, asked("/other", 3.5)),
    ],
)
def test_one_request_that_should_not_have_been_is_one_fault(finding: Finding, further: Request) -> None:
    assert faults([*GOOD, further]) == Counter({finding: 1})


def test_a_page_that_is_not_stored_is_missed_though_it_was_fetched() -> None:
    assert faults(GOOD, PAGES - {f"{URL}/2"}) == Counter({Finding.MISSED: 1})


def test_a_page_behind_rules_for_our_name_only_is_told_apart() -> None:
    by_name = Expected(pages=PAGES, delay=1.0, by_name=frozenset({HOST}))

    assert faults(GOOD, PAGES - {f"{URL}/2"}, by_name) == Counter({Finding.SHUT_OUT: 1})


def test_of_copies_one_is_enough_and_none_is_missed_once() -> None:
    copies = frozenset({f"{URL}/1", f"{URL}/2"})
    expected = Expected(pages=frozenset({f"{URL}/"}), copies=(copies,), delay=1.0)

    assert faults(GOOD, frozenset({f"{URL}/", f"{URL}/2"}), expected) == Counter()
    assert faults(GOOD, frozenset({f"{URL}/"}), expected) == Counter({Finding.MISSED: 1})


def test_a_second_request_while_the_first_is_being_answered_is_at_once_though_the_gap_is_kept() -> None:
    slow = asked("/slow", 4.0, took=5.0)

    assert faults([*GOOD, slow, asked("/other", 6.0)]) == Counter({Finding.AT_ONCE: 1})


def test_gaps_are_counted_per_host() -> None:
    elsewhere = [asked(ROBOTS, 0.5, host="b.test"), asked("/", 1.5, host="b.test")]

    assert faults([*GOOD, *elsewhere]) == Counter()


def test_a_gap_that_a_busy_machine_has_read_late_is_forgiven() -> None:
    assert faults([*GOOD, asked("/other", 3.0 + LENIENCE + 0.01)]) == Counter()


def test_a_crawl_delay_counts_once_the_rules_are_known() -> None:
    expected = Expected(pages=PAGES, delay=1.0, crawl_delays={HOST: 2.0})

    # Between robots.txt and `/`, `/` and `/1`, `/1` and `/2`.
    assert faults(GOOD, PAGES, expected) == Counter({Finding.CRAWL_DELAY: 3})
    assert faults([asked("/", 1.0), asked("/1", 2.0), asked(ROBOTS, 0.0, host="b.test")], PAGES, expected) == Counter(
        {Finding.BEFORE_ROBOTS: 2}
    )


def test_a_retry_before_its_time_is_a_fault_and_a_retry_is_none() -> None:
    refused = asked("/busy", 4.0, status=429, wait=10.0)

    assert faults([*GOOD, refused, asked("/busy", 6.0)]) == Counter({Finding.RETRY_AFTER: 1})
    assert faults([*GOOD, refused, asked("/busy", 15.0)]) == Counter()
    assert faults([*GOOD, asked("/broken", 4.0, status=500), asked("/broken", 6.0)]) == Counter()


def test_whatever_is_asked_of_a_trap_but_its_honest_pages_and_rules_is_wasted() -> None:
    expected = Expected(pages=PAGES, delay=1.0, trap_hosts=frozenset({HOST}))

    assert faults([*GOOD, asked("/cal?m=1", 4.0), asked("/cal?m=2", 5.0)], PAGES, expected) == Counter(
        {Finding.WASTED: 2}
    )


def test_pages_are_found_by_the_digest_of_their_url_whatever_the_ending(tmp_path: Path) -> None:
    (tmp_path / "5d41402abc4b2a76b9719d911017c592").write_bytes(b"of something else")
    (tmp_path / "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d.html").write_bytes(b"the page")
    (tmp_path / "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d.html.__metadata__.json").write_bytes(b"{}")
    kept = HashedFiles(tmp_path)

    assert kept.body("hello") == b"the page"
    assert "hello" in kept and "hell" not in kept


@pytest.mark.parametrize(
    ("number", "codec"), [(1, "utf-8"), (2, "shift_jis"), (3, "cp1252"), (4, "utf-8"), (5, "utf-16")]
)
def test_a_damaged_page_is_the_text_that_it_is_said_to_be(number: int, codec: str) -> None:
    body, text = pages()[f"/{number}"]

    assert body.decode(codec, "replace") == text
    assert len(DAMAGES) == 5


@pytest.mark.parametrize("match", ROUNDS, ids=lambda match: match.name)
def test_what_a_round_expects_can_be_fetched_from_its_web(match: object) -> None:
    found = next(each for each in ROUNDS if each is match)
    web = TroubledWeb(found.config)
    expected = found.expected(web)
    some = sorted(expected.pages)[:: max(1, len(expected.pages) // 50)]
    some += [f"http://{DAMAGED}:{web.config.port}/{number}" for number in range(1, 6)] if found.troubled else []

    for url in some:
        authority, slash, rest = url.removeprefix("http://").partition("/")
        host = authority.partition(":")[0]
        late = Instant(web.config.epoch + 1000.0)
        assert web.address_of(host) is not None
        assert web.respond(host, slash + rest, late).status == 200
    assert set(found.seeds(web)) & expected.pages


def test_the_silent_host_answers_later_than_anybody_waits() -> None:
    trouble = next(each for each in ROUNDS if each.troubled)

    assert TroubledWeb(trouble.config).respond(SILENT, "/", Instant(0.0)).delay > trouble.limit


def test_every_round_has_its_columns_and_every_form_shows_the_figures() -> None:
    usage = Usage(cpu_seconds=2.0, peak_bytes=50_000_000, seconds=7.0, end=End.ITSELF)
    results = [
        Result("made-up", match.name, usage, 123, 40, Counter({Finding.MISSED: 6}), Counter(), 3) for match in ROUNDS
    ]

    assert set(COLUMNS) == {match.name for match in ROUNDS}
    for shown in (plain(results), markdown(results)):
        assert shown.count("34 of 40") == len(ROUNDS)
    assert '"pages_per_cpu_second": 17.0' in as_json(results, {"made-up": "1.0"}, "a machine")
