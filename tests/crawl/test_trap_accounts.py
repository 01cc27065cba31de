"""The accounts that a crawl keeps of shapes and of hosts: what fills them, what is stored, what is given up."""

from collections import Counter, deque
from collections.abc import Callable

import pytest

from gossamer.crawl.trap_accounts import TrapAccounts
from gossamer.dedup import SOFT_404
from gossamer.filter.domains import registrable_domain
from gossamer.filter.trap_budget import ENDLESS, HostBudget, TrapPolicy
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.facts import DomainFacts
from gossamer.model.settlement import PageLinks, ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

POLICY = TrapPolicy(patience=30, hosts_per_domain=40, grace=5)


def budgets(**limits: int) -> TrapAccounts:
    return TrapAccounts(POLICY, domain_of=registrable_domain, **limits)  # type: ignore[arg-type]


def record(number: int = 1, host: str = "h.test", contacted: bool = True, budget: str | None = None) -> HostRecord:
    next_contact = Instant(1.0 if contacted else 0.0)
    return HostRecord(HostId(number), HostKey(host), 7, DomainFacts(), 1, next_contact, 0.1, None, budget=budget)


def visit(number: int, target: str, host: str = "h.test", host_id: int = 1) -> Visit:
    url = Url(f"http://{host}{target}")
    return Visit(
        HostId(host_id), HostKey(host), 7, Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 1, 0, 0), None, 0.1
    )


def settled(number: int, state: UrlState = UrlState.STORED, **more: object) -> Settlement:
    return Settlement(HostId(1), number, 0, state, Instant(2.0), **more)  # type: ignore[arg-type]


def read(settlement: Settlement, links: int = 3) -> ProcessedDocument:
    page_links = PageLinks(settlement.url_id, 7, [Fingerprint(n) for n in range(links)], [HostKey("h.test")] * links)
    return ProcessedDocument(settlement, [], page_links, Counter())


def pages_until_cut(kept: TrapAccounts, settlement: Settlement, most: int = 400) -> int:
    """How many pages with this outcome are asked for."""
    for number in range(most):
        asked = visit(number, f"/item/{number}")
        if kept.cut_for(asked) is not None:
            return number
        kept.settled(asked, settlement._replace(url_id=number), read(settlement))
    return most


def test_every_outcome_has_its_worth() -> None:
    signed = settled(1, signature=b"s", size=5000, title="A title of its own")
    outcomes = {
        "new": signed,
        "far from another": signed._replace(near_duplicate_of=9, distance=5),
        "next to another": signed._replace(near_duplicate_of=9, distance=1),
        "apology": signed._replace(reason=SOFT_404),
        "copy": settled(1, UrlState.DUPLICATE, duplicate_of=9),
        "missing": settled(1, UrlState.MISSING),
        "failed": settled(1, UrlState.DEAD, reason="conn_refused"),
        "to its like": settled(1, UrlState.REDIRECT, redirect_to="https://h.test:8080/item/77"),
        "to another place": settled(1, UrlState.REDIRECT, redirect_to="http://h.test/login?next=7"),
        "to another host": settled(1, UrlState.REDIRECT, redirect_to="http://h.test.example/item/77"),
    }
    pages = {}
    for name, outcome in outcomes.items():
        kept = budgets()
        kept.host_loaded(record())
        pages[name] = pages_until_cut(kept, outcome)

    assert pages == {
        **dict.fromkeys(("new", "missing", "failed", "to another place", "to another host"), 400),
        "far from another": 65,
        **dict.fromkeys(("next to another", "apology", "copy", "to its like"), 35),
    }


def test_nothing_is_cut_on_a_host_that_is_free() -> None:
    kept = TrapAccounts(POLICY, domain_of=registrable_domain, is_free=lambda host: host == "h.test")
    kept.host_loaded(record())

    assert pages_until_cut(kept, settled(1, UrlState.DUPLICATE)) == 400


def test_what_was_cut_is_stored_at_once_and_cut_after_a_restart() -> None:
    kept = budgets()
    kept.host_loaded(record())
    pages_until_cut(kept, settled(1, UrlState.DUPLICATE))
    batch = Batch()
    kept.before_commit(batch)

    again = budgets()
    again.host_loaded(record(budget=batch.budgets[HostId(1)]))

    cut = again.cut_for(visit(999, "/item/999"))
    assert cut is not None
    assert (cut.reason, cut.shape) == ("trap:same", "/item/#")
    assert "30 fetched, 0 new" in cut.summary
    assert again.cut_for(visit(998, "/about")) is None


def test_a_host_that_gives_its_queue_up_is_stored_if_there_is_anything_to_store() -> None:
    kept = budgets()
    kept.host_loaded(record(1))
    kept.host_loaded(record(2, "small.test"))
    for number in range(9):
        kept.settled(visit(number, f"/item/{number}"), settled(number), read(settled(number)))
    kept.settled(visit(50, "/", "small.test", 2), settled(50), read(settled(50)))
    batch = Batch(retired=[RetiredHost(HostId(1), Instant(3.0)), RetiredHost(HostId(2), Instant(3.0))])

    kept.before_commit(batch)

    assert batch.budgets.keys() == {1}
    assert HostBudget.from_text(batch.budgets[HostId(1)]).pages == 9


def test_memory_is_bounded_and_what_is_given_up_goes_to_the_store() -> None:
    kept = budgets(max_shapes=100)
    stored = 0
    for host_id in range(1, 200):
        kept.host_loaded(record(host_id, f"h{host_id}.test"))
        for number in range(12):
            kept.settled(visit(number, f"/item/{number}", f"h{host_id}.test", host_id), settled(number))
        batch = Batch()
        kept.before_commit(batch)
        stored += len(batch.budgets)
        assert len(kept) <= 103

    assert stored > 150


def test_a_domain_may_have_a_limited_number_of_hosts_without_new_pages() -> None:
    kept = budgets()
    asked = 0
    for host_id in range(1, 100):
        host = f"h{host_id}.trap.test"
        kept.host_loaded(record(host_id, host, contacted=False))
        first = visit(host_id, "/", host, host_id)
        if kept.cut_for(first) is None:
            asked += 1
            kept.settled(first, settled(host_id, UrlState.DUPLICATE))
    batch = Batch()
    kept.before_commit(batch)

    last = kept.cut_for(visit(99, "/", "h99.trap.test", 99))
    assert asked == 40
    assert last is not None and last.reason == "trap:hosts" and last.shape == "*.trap.test"
    assert batch.domain_budgets.keys() == {7}


def test_hosts_that_were_contacted_before_are_let_in_again() -> None:
    kept = budgets()
    for host_id in range(1, 100):
        host = f"h{host_id}.trap.test"
        kept.host_loaded(record(host_id, host, contacted=True))

        assert kept.cut_for(visit(host_id, "/", host, host_id)) is None


def test_links_that_did_not_enter_are_counted_by_host_and_reason() -> None:
    kept = budgets()
    kept.host_loaded(record())
    for _ in range(3):
        kept.on_refused_link(visit(1, "/a/a/a/"), HostKey("h.test"), "trap:repeats")
    kept.on_refused_link(visit(1, "/a/a/a/"), HostKey("other.test"), "trap:repeats")
    batch = Batch(retired=[RetiredHost(HostId(1), Instant(3.0))])
    kept.before_commit(batch)

    assert HostBudget.from_text(batch.budgets[HostId(1)]).refused == {"trap:repeats": 3}


# --- sets of shapes --------------------------------------------------------------------------------------------


def fetched_of(host: Callable[[str], list[str]], most: int) -> tuple[int, HostBudget]:
    """How many pages of a host are fetched, breadth first from its start, each of them new, and the host's budget. A
    page whose only link begins with `>` redirects there."""
    kept = TrapAccounts(TrapPolicy(), domain_of=registrable_domain)
    kept.host_loaded(record())
    numbers, fetched = {"/": 0}, 0
    queue = deque(["/"])
    while queue and fetched < most:
        target = queue.popleft()
        asked = visit(numbers[target], target)
        if kept.cut_for(asked) is not None:
            continue
        fetched += 1
        links = host(target)
        redirect = links[0].startswith(">")
        links = list(dict.fromkeys(link.removeprefix(">") for link in links))
        fresh = [i for i, link in enumerate(links) if link not in numbers]
        urls = [Url(f"http://h.test{link}") for link in links]
        if redirect:
            kept.on_redirect(asked, urls[0], asked.host, bool(fresh))
            kept.settled(asked, settled(asked.task.url_id, UrlState.REDIRECT, redirect_to=urls[0]))
        else:
            kept.on_links(asked, urls, [asked.host] * len(urls), fresh)
            outcome = settled(asked.task.url_id, signature=b"s", size=5000)
            kept.settled(asked, outcome, read(outcome))
        for i in fresh:
            numbers[links[i]] = len(numbers)
            queue.append(links[i])
    batch = Batch(retired=[RetiredHost(HostId(1), Instant(3.0))])
    kept.before_commit(batch)
    return fetched, HostBudget.from_text(batch.budgets[HostId(1)])


def number_in(target: str) -> int:
    return int("0" + "".join(filter(str.isdigit, target)))


def bred(target: str, *forms: str, links: int = 1) -> list[str]:
    """Links to new numbers, in the form that follows the target's."""
    kind = next((k for k, form in enumerate(forms) if target.startswith(form.partition("{")[0])), -1)
    return [forms[(kind + 1) % len(forms)].format(number_in(target) * links + k + 1) for k in range(links)]


ENDLESS_SETS: dict[str, Callable[[str], list[str]]] = {
    "two shapes, one link each": lambda target: bred(target, "/a/{}", "/b/{}"),
    "two shapes and a menu": lambda target: ["/", "/about", *bred(target, "/a/{}", "/b/{}")],
    "three shapes": lambda target: bred(target, "/a/{}", "/b?id={}", "/c/{}.html"),
    "twenty shapes": lambda target: bred(target, *(f"/{chr(97 + k)}/{{}}" for k in range(20))),
    "two shapes, fifty links each": lambda target: bred(target, "/a/{}", "/b/{}", links=50),
    "three shapes, five links each": lambda target: bred(target, "/a/{}", "/b/{}", "/c/{}", links=5),
    "sets of parameters": lambda target: bred(target, "/x?from={}&to=1", "/x?page={}"),
    "redirects": lambda target: (
        [f">/a/{number_in(target)}"] if target.startswith("/r/") else [f"/r/{number_in(target) + 1}", "/about"]
    ),
}


@pytest.mark.parametrize("kind", ENDLESS_SETS)
def test_shapes_that_lead_only_to_new_pages_of_each_other_are_cut(kind: str) -> None:
    fetched, budget = fetched_of(ENDLESS_SETS[kind], 2_000)

    assert fetched <= 500
    assert {cut.reason for cut in budget.all_cuts()} == {ENDLESS}
    assert any("and these back" in cut.summary for cut in budget.all_cuts())


def test_honest_pages_of_several_shapes_are_never_cut() -> None:
    """Posts by authors, with comments; and articles behind redirects. Each author has few posts, some only one."""

    def forum(target: str) -> list[str]:
        number = number_in(target)
        if target.startswith("/post/"):
            return ["/", f"/user/u{number // 3}", f"/comments?post={number}", f"/post/{number + 7}"]
        if target.startswith("/user/"):
            return ["/", *(f"/post/{3 * number + k}" for k in range(3)), f"/user/u{number + 1}"]
        if target.startswith("/comments"):
            return [f"/post/{number}", f"/user/u{number * 7 % 5_000}"]
        return [f"/post/{n}" for n in range(50)]

    def shop(target: str) -> list[str]:
        if target.startswith("/node/"):
            return [f">/article/{number_in(target)}"]
        return ["/", *(f"/node/{number_in(target) * 3 + k}" for k in range(1, 4)), f"/node/{number_in(target) // 3}"]

    for site in (forum, shop):
        fetched, budget = fetched_of(site, 10_000)
        assert fetched == 10_000
        assert not budget.cuts
