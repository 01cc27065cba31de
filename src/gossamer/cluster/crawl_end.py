"""The end of a crawl: one worker finds that nothing is left to do, and no URL can appear meanwhile."""

from gossamer.cluster.ports import Session
from gossamer.model.units import Epoch

ENDED = ("finished", "page_limit", "stopped")
"""The states of a crawl in which workers leave."""


def finish(session: Session, epoch: Epoch, rules_version: int) -> bool:
    """In a transaction behind the fence, by an idle worker: end the crawl if nothing is queued, on its way or due, or
    if the limit of pages is reached. `rules_version`: of the rules that it has applied. Returns whether it has ended.

    A visit in progress is still queued. A transaction that queues URLs for another reason than a visit shares the lock
    (`share_crawl`, and `tell_workers` for seeds). The lock is a statement of its
    own: in one statement with the question, the answer would be from before the lock was granted.
    """
    found = session.fetch_one("lock_crawl")
    assert found is not None, "a crawl has a row"
    if found[0] in ENDED:
        return True
    return session.execute("finish_crawl", epoch, rules_version) == 1 or session.execute("reach_page_limit") == 1
