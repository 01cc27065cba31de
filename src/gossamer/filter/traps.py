"""Hot (benchmarks/bench_traps.py). Traps that a URL shows by itself: paths and queries that repeat themselves.

These rules are safe enough to act at once, before anything of a trap was fetched. What only shows in what comes back
is judged by `traps_budget`.
"""

REPEATS = "trap:repeats"
"""The reason for a URL that repeats itself."""

MAX_REPEATS = 3
"""How often the same segments may follow each other."""

_LONGEST_CYCLE = 5
_SCATTERED = 2  # so many times as often may a name stand anywhere in a path
_SHORTEST_NAME = 2


def repeats_itself(path: str, query: str, most: int = MAX_REPEATS) -> str | None:
    """What is repeated more than `most` times, in words; None for an honest URL.

    `path` is that of a URL from its first slash on (or the whole URL up to its query: scheme and host do no harm).
    Segments in a row count (`/a/a/a/a`, `/x/y/x/y/x/y/x/y`), names strewn over the path count when there are twice as
    many, and the same parameter with the same value. Numbers count only in a row, and half: a map has tiles.
    """
    if query and query.count("&") >= most:
        parts = query.split("&")
        if len(parts) - len(set(parts)) >= most:
            for part in dict.fromkeys(parts):
                if parts.count(part) > most:
                    return f"the parameter {part[:80]} {parts.count(part)} times"
    if path.count("/") <= most:
        return None
    segments = path.rstrip("/").split("/")
    distinct = set(segments)
    if len(segments) - len(distinct) < most:
        return None
    return _cycle(segments, most) or _scattered(segments, distinct, most)


def _cycle(segments: list[str], most: int) -> str | None:
    """The shortest run of segments that stands more than `most` times in a row."""
    for length in range(1, _LONGEST_CYCLE + 1):
        needed = length * most  # so many segments in a row equal the one `length` before them
        run = 0
        for i in range(length, len(segments)):
            run = run + 1 if segments[i] == segments[i - length] else 0
            if run < needed:
                continue
            cycle = segments[i - length + 1 : i + 1]
            if run >= _SCATTERED * needed or not all(map(str.isdigit, cycle)):
                return f"/{'/'.join(cycle)[:80]} more than {most} times in a row"
    return None


def _scattered(segments: list[str], distinct: set[str], most: int) -> str | None:
    for segment in distinct:
        if len(segment) >= _SHORTEST_NAME and not segment.isdigit():
            times = segments.count(segment)
            if times > _SCATTERED * most:
                return f"the segment {segment[:80]} {times} times"
    return None
