"""The end of a crawl: one worker finds that nothing is left to do, and no URL can appear meanwhile."""

from gossamer.cluster.ports import Session

ENDED = ("finished", "page_limit", "stopped")
"""The states of a crawl in which workers leave."""


def finish(session: Session) -> bool:
    """In a transaction behind the fence, by an idle worker: end the crawl if nothing is queued, on its way or due, or
    if the limit of pages is reached. Returns whether it has ended.

    A visit in progress is still queued. URLs from outside are added under `hold_open`. The lock is a statement of its
    own: in one statement with the question, the answer would be from before the lock was granted.
    """
    found = session.fetch_one("lock_crawl")
    assert found is not None, "a crawl has a row"
    return found[0] in ENDED or session.execute("finish_crawl") == 1 or session.execute("reach_page_limit") == 1


def hold_open(session: Session) -> str:
    """In a transaction that adds URLs to the crawl from outside, before it does: the crawl does not end before this
    transaction. Returns its state; if it is `finished`, nothing may be added."""
    state: str = session.fetch_value("share_crawl")
    return state
