"""What a worker may store while its grant changes; the statements are in `test_protocol_steps`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from gossamer.cluster.page_grants import PageGrants
from gossamer.model.units import Epoch

T = TypeVar("T")


class Fence:
    """Transactions that are always committed."""

    epoch = Epoch(1)

    def __init__(self, stored: int) -> None:
        self.stored = stored

    def run(self, work: Callable[[], T]) -> T:
        return work()


class Crawl:
    """A session on a crawl whose only worker is this one."""

    def __init__(self, max_pages: int | None) -> None:
        self.max_pages = max_pages
        self.granted: list[int] = []
        self.on_grant: Callable[[], None] = lambda: None

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def execute(self, name: str, *values: Any) -> int:
        assert name == "set_grant"
        self.granted.append(values[1])
        self.on_grant()
        return 1

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...]:
        return ("running", self.max_pages) if name == "lock_crawl" else (self.granted[-1], 1)

    def fetch_value(self, name: str, *values: object) -> Any:
        raise NotImplementedError

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def close(self) -> None: ...


def test_no_visit_starts_for_a_page_that_is_being_given_back() -> None:
    crawl = Crawl(max_pages=40)
    grants = PageGrants(crawl, Fence(stored=10))
    while grants.ask():
        pass
    assert grants.left(29)
    may_start: list[bool] = []
    crawl.on_grant = lambda: may_start.append(grants.left(2))

    grants.keep(2)  # visits are in progress
    grants.give_back()

    assert may_start == [False]
    assert crawl.granted[-1] == 12
    grants.give_back()
    assert len(may_start) == 1  # there was nothing more to give


def test_a_first_limit_holds_before_the_answer_to_it() -> None:
    crawl = Crawl(max_pages=None)
    grants = PageGrants(crawl, Fence(stored=10))
    grants.ask()
    assert grants.left(100)

    grants.on_limit_changed(3)

    assert not grants.left(3)
    crawl.max_pages = 20
    assert grants.ask() > 0
    assert grants.left(3)


def test_another_limit_leaves_what_is_in_progress() -> None:
    crawl = Crawl(max_pages=40)
    grants = PageGrants(crawl, Fence(stored=10))
    while grants.ask():
        pass

    grants.on_limit_changed(3)

    assert grants.granted == 13
