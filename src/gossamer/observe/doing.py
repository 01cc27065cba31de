"""What a running crawl does, in a word: the same in the service, on its dashboard and in `gossamer status`."""

from typing import Literal

StateOfCrawl = Literal["running", "idle", "paused", "stopping", "store failing", "store slow"]
"""`store failing`: commits fail, so nothing is fetched; `store slow`: one takes very long, and nothing is fetched until
it ends."""


def what_it_does(*, stopping: bool, paused: bool, store_failing: bool, store_slow: bool, busy: bool) -> StateOfCrawl:
    """What keeps a crawl from fetching comes before what it has to do; a slow store after a pause, because that ends by
    itself. `busy`: something is queued or in flight."""
    if stopping:
        return "stopping"
    if store_failing:
        return "store failing"
    if paused:
        return "paused"
    if store_slow:
        return "store slow"
    return "running" if busy else "idle"
