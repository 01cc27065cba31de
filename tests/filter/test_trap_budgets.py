"""Budgets of shapes: what is cut, what never is, and what is kept."""

import random

import pytest

from gossamer.filter.trap_budget import (
    ALIKE,
    ENDLESS,
    FACETS,
    SAME,
    DomainBudget,
    HostBudget,
    PageValue,
    TemplateSketch,
    TrapPolicy,
)
from gossamer.filter.url_shape import Shape, shape_of
from gossamer.lab.simweb.endless import STYLES, honest_targets

POLICY = TrapPolicy(patience=150, hosts_per_domain=500, grace=20)
START = len("http://h.test")


def shape(target: str) -> Shape:
    return shape_of(f"http://h.test{target}", START)


def pages_until_cut(budget: HostBudget, targets: list[str], worths: list[PageValue]) -> int:
    """How many pages are fetched before the shape of the next one is cut; all of them if none is."""
    for number, (target, worth) in enumerate(zip(targets, worths, strict=True)):
        if budget.cut_of(shape(target)) is not None:
            return number
        budget.count(shape(target), worth, POLICY)
    return len(targets)


@pytest.mark.parametrize(
    ("worth", "reason", "most"),
    [(PageValue.SAME, SAME, 171), (PageValue.ALIKE, ALIKE, 321), (PageValue.NEW, None, 5000)],
)
def test_a_shape_is_cut_when_its_patience_is_used_up(worth: PageValue, reason: str | None, most: int) -> None:
    budget = HostBudget()
    targets = [f"/item/{n}" for n in range(5000)]

    fetched = pages_until_cut(budget, targets, [worth] * 5000)

    cut = budget.cut_of(shape("/item/9999"))
    assert fetched <= most
    assert (cut.reason if cut else None) == reason
    assert budget.cuts is (reason is not None)


@pytest.mark.parametrize("kind", STYLES)
def test_twenty_thousand_honest_pages_are_never_cut(kind: str) -> None:
    chance = random.Random(kind)
    targets = list(honest_targets(kind, 20_000))
    chance.shuffle(targets)
    # Some of an honest host's pages are copies, or much like another one.
    worths = chance.choices([PageValue.NEW, PageValue.ALIKE, PageValue.SAME], [70, 20, 10], k=len(targets))
    budget = HostBudget()

    assert pages_until_cut(budget, targets, worths) == len(targets)
    assert not budget.cuts


def test_one_new_page_in_four_keeps_a_shape_alive_and_one_in_ten_does_not() -> None:
    targets = [f"/item/{n}" for n in range(20_000)]

    alive = pages_until_cut(
        HostBudget(), targets, [PageValue.NEW if n % 4 == 0 else PageValue.SAME for n in range(20_000)]
    )
    dead = pages_until_cut(
        HostBudget(), targets, [PageValue.NEW if n % 10 == 0 else PageValue.SAME for n in range(20_000)]
    )

    assert alive == 20_000
    assert dead < 400


def test_a_shape_that_stops_bringing_anything_is_cut_however_much_it_brought() -> None:
    targets = [f"/item/{n}" for n in range(20_000)]
    worths = [PageValue.NEW] * 10_000 + [PageValue.SAME] * 10_000

    assert pages_until_cut(HostBudget(), targets, worths) == 10_150


def test_a_trap_beside_honest_pages_is_cut_and_they_are_not() -> None:
    budget = HostBudget()
    lost = fetched = 0
    for n in range(3000):
        if budget.cut_of(shape(f"/news/story-{n}.html")) is not None:
            lost += 1
        else:
            budget.count(shape(f"/news/story-{n}.html"), PageValue.NEW, POLICY)
        if budget.cut_of(shape(f"/calendar/{n}/1/")) is None:
            fetched += 1
            budget.count(shape(f"/calendar/{n}/1/"), PageValue.SAME, POLICY)

    assert lost == 0
    assert fetched <= 161


def test_random_names_are_cut_by_their_coarse_shape() -> None:
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefgh", k=7)) for _ in range(4000)]
    targets = [f"/{a}/{b}" for a, b in zip(words[::2], words[1::2], strict=True)]

    assert pages_until_cut(HostBudget(), targets, [PageValue.SAME] * 2000) <= 171


def test_random_names_beside_a_large_honest_section_are_cut_as_soon() -> None:
    chance = random.Random(3)
    budget = HostBudget()
    for n in range(500):
        budget.count(shape(f"/news/{'abcdefghij'[n % 10]}title"), PageValue.NEW, POLICY)
    random_names = [f"/{''.join(chance.choices('abcdefgh', k=7))}/x" for _ in range(2000)]

    assert pages_until_cut(budget, random_names, [PageValue.SAME] * 2000) <= 160
    assert budget.cut_of(shape("/news/other")) is None


def test_pages_that_breed_are_cut_whatever_they_show() -> None:
    budget = HostBudget()
    for n in range(1000):
        if budget.cut_of(shape(f"/maze/{n}")) is not None:
            break
        budget.count(shape(f"/maze/{n}"), PageValue.NEW, POLICY)
        if n > 150 and n % 8 == 0:
            budget.count_links(shape(f"/maze/{n}"), iter([(shape("/maze/5"), True)] * 8), POLICY)

    cut = budget.cut_of(shape("/maze/1"))
    assert n < 500
    assert cut is not None and cut.reason == ENDLESS


def test_pages_that_link_to_known_ones_too_do_not_breed() -> None:
    budget = HostBudget()
    for n in range(5000):
        budget.count(shape(f"/wiki/{n}"), PageValue.NEW, POLICY)
        if n % 8 == 0:
            links = [(shape("/wiki/5"), True)] * 20 + [(shape("/wiki/6"), False)]
            budget.count_links(shape(f"/wiki/{n}"), iter(links), POLICY)

    assert not budget.cuts


def test_a_list_with_many_sets_of_parameters_is_judged_by_where_it_leads() -> None:
    chance = random.Random(7)
    budget = HostBudget()
    fetched: set[str] = set()
    for n in range(3000):
        names = sorted(chance.sample(range(10), chance.randint(1, 4)))
        target = "/list?" + "&".join(f"f{name}={chance.randrange(10)}" for name in names)
        if target not in fetched and budget.cut_of(shape(target)) is None:
            fetched.add(target)
            budget.count(shape(target), PageValue.NEW, POLICY, leads=n < 60)

    cut = budget.cut_of(shape("/list?f1=1&f2=2"))
    assert len(fetched) < 400
    assert cut is not None and cut.reason == FACETS


def test_a_script_with_many_sets_of_parameters_keeps_the_pages_that_one_of_them_chooses() -> None:
    budget = HostBudget()
    for n in range(2000):
        assert budget.cut_of(shape(f"/index.php?title=Page_{n}")) is None
        budget.count(shape(f"/index.php?title=Page_{n}"), PageValue.NEW, POLICY)
        other = f"/index.php?title=Page_{n}&p{n % 40}=1"
        if budget.cut_of(shape(other)) is None:
            budget.count(shape(other), PageValue.SAME, POLICY)

    assert budget.cut_of(shape("/index.php?title=X&p1=1")) is not None


def test_pages_of_hardly_any_text_are_compared_by_the_rest() -> None:
    def until_cut(looks: list[TemplateSketch]) -> int:
        budget = HostBudget()
        for n, outline in enumerate(looks):
            if budget.cut_of(shape(f"/p/{n}")) is not None:
                return n
            budget.count(shape(f"/p/{n}"), PageValue.NEW, POLICY, sketch=outline)
        return len(looks)

    assert until_cut([TemplateSketch(1, False)] * 2000) <= 175
    assert until_cut([TemplateSketch(1, True)] * 2000) <= 330
    assert until_cut([TemplateSketch(n, False) for n in range(2000)]) == 2000


def test_the_shapes_of_a_host_are_bounded() -> None:
    budget = HostBudget()
    for n in range(5000):
        name = "".join("abcdefghij"[int(digit)] for digit in str(n))
        budget.count(shape(f"/{name}/x?q{n}=1"), PageValue.NEW, POLICY)

    assert len(budget.fine) <= 192
    assert len(budget.coarse) <= 193
    assert len(budget.to_text()) < 50_000


def test_a_budget_is_the_same_after_a_restart() -> None:
    budget = HostBudget(admitted=True, found_new=True, refused={"trap:repeats": 3})
    for n in range(200):
        budget.count(shape(f"/item/{n}"), PageValue.SAME, POLICY)
        budget.count(shape(f"/news/{n}"), PageValue.NEW, POLICY)
    budget.count_links(shape("/news/1"), iter([(shape("/news/2"), True), (shape("/news/3"), False)]), POLICY)

    again = HostBudget.from_text(budget.to_text())

    assert again == budget
    cut = again.cut_of(shape("/item/7"))
    assert cut is not None and cut == budget.cut_of(shape("/item/7"))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"pages": "x"}', "\x00"])
def test_text_that_is_no_budget_is_an_empty_one(text: str) -> None:
    assert HostBudget.from_text(text) == HostBudget()


# --- hosts of a domain --------------------------------------------------------------------------------


def test_a_domain_whose_hosts_bring_nothing_has_five_hundred_of_them() -> None:
    domain = DomainBudget(500.0)

    admitted = sum(domain.admit() for _ in range(2000))

    assert admitted == 500
    assert domain.cut_of("h.test").shape == "*.h.test"


def test_a_domain_whose_hosts_bring_something_has_as_many_as_there_are() -> None:
    domain = DomainBudget(500.0)
    for _ in range(20_000):
        assert domain.admit()
        domain.on_first_new_page(POLICY)


def test_hosts_that_breed_are_cut_whatever_they_show() -> None:
    domain = DomainBudget(500.0)
    admitted = 0
    while domain.admit() and admitted < 2000:
        admitted += 1
        domain.on_first_new_page(POLICY)
        domain.count_links(10, 0, POLICY)

    assert admitted <= 251


def test_a_domain_is_the_same_after_a_restart() -> None:
    domain = DomainBudget(500.0)
    for _ in range(600):
        domain.admit()

    assert DomainBudget.from_text(domain.to_text(), POLICY) == domain
    assert DomainBudget.from_text("nonsense", POLICY) == DomainBudget(500.0)
