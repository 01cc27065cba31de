"""What a crawl knows of a host in memory: its robots.txt answers, its failures, and whether it is given up."""

import random

import pytest

from gossamer.crawl.visit.host_context import PAUSED_LOOK, HostContext, HostContexts, HostHealth
from gossamer.frontier.breaker import BreakerPolicy, HostFailures, Silence
from gossamer.model.batch import Committed, RobotsRecord
from gossamer.model.facts import DomainFacts
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds

A, B = HostId(1), HostId(2)
NOW = Instant(1_700_000_000.0)
POLICY = BreakerPolicy()
REFUSED = "conn_refused"
TROUBLE = HostFailures(3, NOW, Instant(NOW + 60.0), REFUSED)


def health(policy: BreakerPolicy = POLICY, *, nothing_else_left: bool = False) -> HostHealth:
    return HostHealth(policy, random.Random(1), lambda: nothing_else_left)


def later(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def record(host_id: HostId = A, **more: object) -> HostRecord:
    usual = HostRecord(host_id, HostKey(f"{host_id}.test"), 1, DomainFacts(), 1, NOW, 0.1, None)
    return usual._replace(**more)  # type: ignore[arg-type]


def robots(origin: str, body: bytes, status: int | None = 200) -> RobotsRecord:
    return RobotsRecord(Origin(origin), A, status, NOW, later(900.0), body)


def fail(judge: HostHealth, context: HostContext, times: int, *, unreached: bool = False) -> list[bool]:
    """Failures in a row, one a second. Whether the host is given up, after each."""
    return [judge.record_failure(context, REFUSED, later(n), unreached=unreached) for n in range(times)]


# --- failures in a row -----------------------------------------------------------------------------


def test_the_breaker_opens_after_five_failures_in_a_row() -> None:
    judge, context = health(), HostContext()

    sick = []
    for n in range(POLICY.opens_after):
        judge.record_failure(context, REFUSED, later(n), unreached=False)
        sick.append(judge.is_open(context))

    assert sick == [False] * (POLICY.opens_after - 1) + [True]
    assert judge.opens_after == POLICY.opens_after


def test_a_host_without_failures_is_neither_sick_nor_given_up() -> None:
    assert not health().is_open(HostContext())
    assert not health().is_given_up(HostContext(), NOW)


def test_a_host_that_answers_badly_rests_only_when_it_is_sick() -> None:
    judge, context = health(), HostContext()

    fail(judge, context, POLICY.opens_after - 1)
    assert context.trouble is not None
    assert context.trouble.until == later(POLICY.opens_after - 2)
    judge.record_failure(context, REFUSED, later(10.0), unreached=False)

    assert context.trouble.until > later(10.0)


def test_a_host_that_was_not_reached_rests_from_the_first_failure_on() -> None:
    context = HostContext()

    health().record_failure(context, REFUSED, NOW, unreached=True)

    assert context.trouble is not None
    assert (context.trouble.failures, context.trouble.since, context.trouble.reason) == (1, NOW, REFUSED)
    assert 0.8 * POLICY.first_rest <= context.trouble.until - NOW <= POLICY.first_rest


def test_a_host_rests_as_long_as_it_asks_for() -> None:
    context = HostContext()

    health().record_failure(context, REFUSED, NOW, unreached=True, asked=Seconds(500.0))

    assert context.trouble is not None
    assert context.trouble.until == later(500.0)


def test_trouble_counts_from_its_first_failure() -> None:
    judge, context = health(), HostContext()

    fail(judge, context, 3)
    judge.record_failure(context, "server_error", later(100.0), unreached=False)

    assert context.trouble is not None
    assert (context.trouble.failures, context.trouble.since, context.trouble.reason) == (4, NOW, "server_error")


# --- giving up -------------------------------------------------------------------------------------


def test_a_sick_host_is_given_up_when_patience_is_at_its_end() -> None:
    judge, context = health(), HostContext()
    assert not any(fail(judge, context, POLICY.opens_after))

    assert not judge.record_failure(context, REFUSED, later(POLICY.patience - 1.0), unreached=False)
    assert judge.record_failure(context, REFUSED, later(POLICY.patience), unreached=False)


def test_a_host_that_fails_now_and_then_is_not_given_up() -> None:
    judge, context = health(), HostContext()
    judge.record_failure(context, REFUSED, NOW, unreached=False)

    assert not judge.record_failure(context, REFUSED, later(10 * POLICY.patience), unreached=False)


def test_a_host_that_is_given_up_is_asked_again_when_its_rest_is_over() -> None:
    judge, context = health(), HostContext()
    fail(judge, context, POLICY.opens_after)
    judge.record_failure(context, REFUSED, later(POLICY.patience), unreached=False)
    assert context.trouble is not None

    assert judge.is_given_up(context, later(POLICY.patience))
    assert not judge.is_given_up(context, context.trouble.until)


def test_a_sick_host_within_our_patience_is_not_given_up() -> None:
    judge, context = health(), HostContext()
    fail(judge, context, POLICY.opens_after)

    assert not judge.is_given_up(context, later(POLICY.opens_after))


def test_a_hopeless_host_is_given_up_at_once_for_the_longest_rest() -> None:
    judge, context = health(), HostContext()

    judge.give_up_now(context, "tls_expired", NOW)

    assert context.trouble is not None
    assert context.trouble.reason == "tls_expired"
    assert judge.is_open(context)
    assert judge.is_given_up(context, NOW)
    assert judge.is_given_up(context, later(POLICY.longest_rest - 1.0))
    assert not judge.is_given_up(context, later(POLICY.longest_rest))


def unanswered(judge: HostHealth, context: HostContext, *seconds: float) -> list[bool]:
    return [judge.record_failure(context, REFUSED, later(at), unreached=True, unanswered=True) for at in seconds]


def test_a_host_that_never_answered_is_given_up_early_if_nothing_else_is_left() -> None:
    judge, context = health(nothing_else_left=True), HostContext()

    given_up = unanswered(judge, context, 0.0, 1.0, POLICY.last_patience - 1.0, POLICY.last_patience)

    assert given_up == [False, False, False, True]
    assert context.trouble is not None
    assert context.trouble.silence is Silence.GIVEN_UP


def test_a_host_that_never_answered_gets_three_tries_at_least() -> None:
    judge, context = health(nothing_else_left=True), HostContext()

    assert unanswered(judge, context, 0.0, POLICY.last_patience, 2 * POLICY.last_patience) == [False, False, True]


def test_a_host_that_never_answered_is_waited_for_while_there_is_other_work() -> None:
    judge, context = health(nothing_else_left=False), HostContext()

    assert not any(unanswered(judge, context, 0.0, 1.0, 2.0, POLICY.last_patience, 2 * POLICY.last_patience))


def test_a_host_that_has_answered_is_waited_for_with_full_patience() -> None:
    judge, context = health(nothing_else_left=True), HostContext()

    assert not any(fail(judge, context, 4, unreached=True))
    assert not judge.record_failure(context, REFUSED, later(POLICY.patience - 1.0), unreached=True)


# --- hosts in memory -------------------------------------------------------------------------------


def test_a_context_exists_from_the_load_of_its_host_to_its_retirement() -> None:
    context = HostContexts("gossamer")
    context.host_loaded(record(A), [])
    context.host_loaded(record(B), [])

    context.host_retired(A)

    assert len(context) == 1
    assert context[B] == HostContext()
    with pytest.raises(KeyError):
        context[A]


def test_a_host_that_failed_before_a_restart_is_still_in_trouble() -> None:
    context = HostContexts("gossamer")

    context.host_loaded(record(failures=TROUBLE.to_text()), [])

    assert context[A].trouble == TROUBLE


@pytest.mark.parametrize("text", [None, "", "nonsense", "1:2"])
def test_a_row_that_says_nothing_of_trouble_is_a_host_without(text: str | None) -> None:
    context = HostContexts("gossamer")

    context.host_loaded(record(failures=text), [])

    assert context[A].trouble is None


def test_rules_on_record_are_known_by_origin() -> None:
    context = HostContexts("gossamer")

    context.host_loaded(
        record(), [robots("http://1.test", b"User-agent: *\nDisallow: /x"), robots("https://1.test", b"")]
    )

    known = context[A].robots
    assert not known[Origin("http://1.test")].verdict("/x").allowed
    assert known[Origin("https://1.test")].verdict("/x").allowed


def test_rules_are_read_for_our_own_name() -> None:
    file = robots("http://1.test", b"User-agent: gossamer\nDisallow: /x\n\nUser-agent: *\nDisallow: /")

    answer = HostContexts("gossamer").restored_answer(file)

    assert not answer.verdict("/x").allowed
    assert answer.verdict("/y").allowed


def test_a_file_that_was_out_of_reach_keeps_the_host_closed_after_a_restart() -> None:
    unreachable = robots("http://1.test", b"", status=None)._replace(unreachable_since=NOW)

    answer = HostContexts("gossamer").restored_answer(unreachable)

    assert answer.closed
    assert answer.unreachable_since == NOW


def test_the_last_answer_of_the_name_server_is_recalled() -> None:
    recalled = []
    context = HostContexts("gossamer", lambda host, text: recalled.append((host, text)))

    context.host_loaded(record(A, resolved="1700000000:192.0.2.1"), [])
    context.host_loaded(record(B), [])

    assert recalled == [("1.test", "1700000000:192.0.2.1")]


def test_the_longest_crawl_delay_of_a_host_counts() -> None:
    files = [
        robots("http://1.test", b"User-agent: *\nCrawl-delay: 5"),
        robots("https://1.test", b"User-agent: *\nCrawl-delay: 7"),
        robots("http://1.test:81", b""),
        robots("http://1.test:82", b"", status=None),
    ]
    context = HostContexts("gossamer")

    assert context.longest_crawl_delay(files) == 7.0
    assert context.longest_crawl_delay(files[2:]) is None
    assert context.longest_crawl_delay([]) is None


def test_hosts_are_counted_by_their_failures() -> None:
    context = HostContexts("gossamer")
    context.host_loaded(record(A, failures=TROUBLE.to_text()), [])
    context.host_loaded(record(B), [])

    assert [context.count_failing(least) for least in (1, 3, 4)] == [1, 1, 0]


def _forgiving(*host_ids: HostId) -> Committed:
    return Committed(1, [], [], [], [], [], 0, 0, 0, 0.0, restored_hosts=frozenset(host_ids))


def test_a_host_that_gets_urls_back_has_no_trouble_after_the_commit() -> None:
    context = HostContexts("gossamer")
    context.host_loaded(record(A, failures=TROUBLE.to_text()), [])
    context.host_loaded(record(B, failures=TROUBLE.to_text()), [])

    context.committed(_forgiving(A, HostId(99)))

    assert context[A].trouble is None
    assert context[B].trouble == TROUBLE


@pytest.mark.parametrize(
    ("troubles", "none_answered"),
    [
        ([], True),
        ([Silence.NEVER_ANSWERED], True),
        ([Silence.NEVER_ANSWERED, Silence.GIVEN_UP], True),
        ([Silence.NONE], False),
        ([None], False),
        ([Silence.NEVER_ANSWERED, None], False),
        ([Silence.NEVER_ANSWERED, Silence.NONE], False),
    ],
)
def test_whether_no_host_has_answered(troubles: list[Silence | None], none_answered: bool) -> None:
    context = HostContexts("gossamer")
    for number, silence in enumerate(troubles, 1):
        text = None if silence is None else TROUBLE._replace(silence=silence).to_text()
        context.host_loaded(record(HostId(number), failures=text), [])

    assert context.none_has_answered() is none_answered


def test_a_long_rest_is_explained_by_trouble_or_by_missing_rules() -> None:
    assert HostContext(trouble=TROUBLE).rest_reason == "conn_refused, 3 in a row"
    assert HostContext().rest_reason == "rules out of reach"


def test_a_host_counts_as_held_back_while_it_has_its_turns() -> None:
    contexts = HostContexts("gossamer")
    contexts.host_loaded(record(A), [])
    contexts.host_loaded(record(B), [])
    contexts[A].held_at, contexts[B].held_at = NOW, later(PAUSED_LOOK)

    assert contexts.count_held(later(PAUSED_LOOK)) == 2
    assert contexts.count_held(later(2 * PAUSED_LOOK)) == 1
