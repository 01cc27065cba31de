"""Windows of URLs: a long table is read a bounded number of rows at a time."""

from collections.abc import Callable, Iterator

from gossamer.store.ports import Database


def url_windows(
    db: Database, size: int, last: int, progress: Callable[[int, int], None] | None = None, *, after: int = 0
) -> Iterator[tuple[int, int]]:
    """Ranges of ids, after one and up to another, each of about `size` URLs: all URLs after `after`, to `last`.
    `progress` is called when a range is done, with its end and `last`."""
    while after < last:
        upto = min(last, db.fetch_value("window_end", after, size))
        yield after, upto
        after = upto
        if progress is not None:
            progress(after, last)
