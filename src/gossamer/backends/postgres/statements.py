"""The named statements of the `.sql` files of this folder, and how many rows of values travel in one of them.

A file of statements has blocks that begin with `-- name:`. `/*rows a bigint, b text*/` stands for a query that returns
the rows of values; each column is one parameter, an array. The driver's adapters would look at every value of it;
packed here by the type of the column it costs a fraction (benchmarks/bench_store.py).
"""

import re
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

FILES = (
    *("queries.sql", "bulk_changes.sql", "orders.sql", "cluster.sql"),
    *("status.sql", "hosts.sql", "pages.sql", "explain.sql", "links.sql", "verify.sql"),
)
"""The files whose statements can be called by name."""

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_ROWS = re.compile(r"/\*rows ([^*]+)\*/")

_FACTS = """u.id, u.url, u.depth, u.links, u.links_from_others, u.credit, u.visits, u.changes, u.link_sum, u.steps,
    u.ordinal, (SELECT priority FROM hints WHERE url_id = u.id), greatest(u.modified, u.last_modified)"""
"""The facts of a URL, as `store.row_formats.facts_from` reads them."""

_MOVED = """u.id, u.host_id, u.state, u.front, u.place, u.available_at AS at, u.reason, o.state AS old_state,
        o.front AS old_front, o.place AS old_place, o.available_at AS old_at, o.reason AS old_reason"""
_FOLLOW = """,
left_queue AS (
    DELETE FROM queue q USING moved m WHERE m.old_state = 0
        AND (m.state, m.front, m.place) IS DISTINCT FROM (0::smallint, m.old_front, m.old_place)
        AND q.host_id = m.host_id AND q.front = m.old_front AND q.place = m.old_place AND q.url_id = m.id),
entered_queue AS (
    INSERT INTO queue (host_id, front, place, url_id) SELECT host_id, front, place, id FROM moved m WHERE m.state = 0
        AND (m.old_state, m.front, m.place) IS DISTINCT FROM (0::smallint, m.old_front, m.old_place)),
left_retries AS (
    DELETE FROM retries r USING moved m WHERE m.old_state = 0 AND m.old_reason IS NOT NULL AND m.old_at IS NOT NULL
        AND (m.state, m.at, m.reason IS NULL) IS DISTINCT FROM (0::smallint, m.old_at, false)
        AND r.part = (m.id >> 40)::smallint AND r.at = m.old_at AND r.url_id = m.id),
entered_retries AS (
    INSERT INTO retries (at, url_id) SELECT at, id FROM moved m WHERE m.state = 0 AND m.reason IS NOT NULL
        AND m.at IS NOT NULL
        AND (m.old_state, m.old_at, m.old_reason IS NULL) IS DISTINCT FROM (0::smallint, m.at, false)),
left_due AS (
    DELETE FROM due d USING moved m WHERE m.old_state BETWEEN 1 AND 5 AND m.old_at IS NOT NULL
        AND (m.state, m.at) IS DISTINCT FROM (m.old_state, m.old_at) AND d.part = (m.id >> 40)::smallint
        AND d.missing = (m.old_state = 4) AND d.at = m.old_at AND d.state = m.old_state AND d.url_id = m.id),
entered_due AS (
    INSERT INTO due (missing, at, state, url_id) SELECT m.state = 4, m.at, m.state, m.id FROM moved m
        WHERE m.state BETWEEN 1 AND 5 AND m.at IS NOT NULL
        AND (m.state, m.at) IS DISTINCT FROM (m.old_state, m.old_at)),
left_dead AS (
    DELETE FROM dead d USING moved m WHERE m.old_state = 7 AND m.state <> 7 AND d.url_id = m.id),
entered_dead AS (
    INSERT INTO dead (url_id, reason) SELECT id, reason FROM moved m WHERE m.state = 7
    ON CONFLICT (url_id) DO UPDATE SET reason = excluded.reason),
left_excluded AS (
    DELETE FROM excluded e USING moved m WHERE m.old_state = 6
        AND (m.state, m.reason) IS DISTINCT FROM (m.old_state, m.old_reason)
        AND e.host_id = m.host_id AND e.reason = coalesce(m.old_reason, '') AND e.url_id = m.id),
entered_excluded AS (
    INSERT INTO excluded (host_id, reason, url_id) SELECT host_id, coalesce(reason, ''), id FROM moved m
        WHERE m.state = 6 AND (m.state, m.reason) IS DISTINCT FROM (m.old_state, m.old_reason))
SELECT count(*) FROM moved"""
"""Keeps the tables of URLs that are queued, due, dead or excluded, after the moves in `moved`."""


class Statement(NamedTuple):
    """A statement as the server takes it."""

    sql: str
    columns: tuple[str, ...] = ()  # the types of its rows of values
    in_parts: bool = False  # whether the list of partitions follows its own parameters
    by_epoch: bool = False  # whether the number of the worker does, after the partitions


@cache
def statements() -> dict[str, Statement]:
    """All statements by name. A name occurs once in all files."""
    found: dict[str, Statement] = {}
    for file in FILES:
        parts = _NAME.split(script(file))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"{file} has a statement of the same name as another file: {name}")
            found[name] = _statement(body.strip())
    return found


def script(file: str) -> str:
    """The text of a file of this folder."""
    return files("gossamer.backends.postgres").joinpath(file).read_text(encoding="utf-8")


def _statement(text: str) -> Statement:
    text = text.replace("/*facts*/", _FACTS).replace("/*moved*/", _MOVED).replace("/*follow*/", _FOLLOW)
    columns: tuple[str, ...] = ()
    if (match := _ROWS.search(text)) is not None:
        named = [column.split() for column in match[1].split(",")]
        columns = tuple(kind for _, kind in named)
        names = ", ".join(name for name, _ in named)
        arrays = ", ".join(f"${n}::{kind}[]" for n, kind in enumerate(columns, 1))
        if "row_number" in text:
            query = f"SELECT {names}, row_number FROM unnest({arrays}) WITH ORDINALITY AS r ({names}, row_number)"
        else:
            query = f"SELECT {names} FROM unnest({arrays}) AS r ({names})"
        text = text[: match.start()] + query + text[match.end() :]
    if in_parts := "/*parts*/" in text:
        last = max((int(number) for number in re.findall(r"\$(\d+)", text)), default=0)
        text = text.replace("/*parts*/", f"${last + 1}::integer[]")
    if by_epoch := "/*epoch*/" in text:
        last = max((int(number) for number in re.findall(r"\$(\d+)", text)), default=0)
        text = text.replace("/*epoch*/", f"${last + 1}::bigint")
    return Statement(text, columns, in_parts, by_epoch)


# --- rows of values --------------------------------------------------------------------------------------


class Column(bytes):
    """The values of one column, as the server reads an array."""

    oid = 0  # of the array's type


class SmallintColumn(Column):
    oid = 1005


class IntegerColumn(Column):
    oid = 1007


class BigintColumn(Column):
    oid = 1016


class FloatColumn(Column):
    oid = 1022


class BooleanColumn(Column):
    oid = 1000


class TextColumn(Column):
    oid = 1009


class ByteaColumn(Column):
    oid = 1001


COLUMNS: tuple[type[Column], ...] = (
    *(SmallintColumn, IntegerColumn, BigintColumn, FloatColumn, BooleanColumn, TextColumn, ByteaColumn),
)
_HEAD = struct.Struct(">iiiii")
"""Dimensions, whether there are nulls, the type of the values, their number, the first index."""
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_LENGTHS = [_LENGTH.pack(number) for number in range(1024)]
"""Of values up to that length, which nearly all are."""


def _fixed(kind: type[Column], oid: int, code: str) -> Callable[[Sequence[object]], Column]:
    """Packs values of a fixed size, each of which follows its length."""
    one = struct.Struct(f">i{code}").pack
    size = struct.calcsize(f">{code}")
    step = _LENGTH.size + size
    blank = _LENGTH.pack(size) + bytes(size)

    def pack(values: Sequence[object]) -> Column:
        number = len(values)
        first = values[0]
        if first is values[-1] and values.count(first) == number:  # as often as not
            value = _NULL if first is None else one(size, first)
            return kind(_HEAD.pack(1, first is None, oid, number, 1) + value * number)
        try:
            numbers = array(code, values)  # type: ignore[type-var]
        except TypeError:  # there are nulls
            packed = [_NULL if value is None else one(size, value) for value in values]
            return kind(_HEAD.pack(1, 1, oid, number, 1) + b"".join(packed))
        if sys.byteorder == "little":
            numbers.byteswap()
        found = numbers.tobytes()
        whole = bytearray(blank * number)
        for n in range(size):  # the first bytes of all values, then the second: no loop over values is as fast
            whole[_LENGTH.size + n :: step] = found[n::size]
        return kind(_HEAD.pack(1, 0, oid, number, 1) + whole)

    return pack


def _variable(
    kind: type[Column], oid: int, encode: Callable[[Sequence[object]], list[bytes | None]]
) -> Callable[[Sequence[object]], Column]:
    """Packs texts or bytes."""

    def pack(values: Sequence[object]) -> Column:
        number = len(values)
        first = values[0]
        if first is values[-1] and values.count(first) == number:
            (value,) = encode([first])
            packed = _NULL if value is None else _LENGTH.pack(len(value)) + value
            return kind(_HEAD.pack(1, value is None, oid, number, 1) + packed * number)
        encoded = encode(values)
        parts: list[bytes] = [b""] * (2 * number)
        try:
            parts[::2] = [_LENGTHS[len(value)] for value in encoded]  # type: ignore[arg-type]
            parts[1::2] = encoded  # type: ignore[assignment]
        except (IndexError, TypeError):  # a long one, or a null
            parts[::2] = [_NULL if value is None else _LENGTH.pack(len(value)) for value in encoded]
            parts[1::2] = [value or b"" for value in encoded]
        return kind(_HEAD.pack(1, None in encoded, oid, number, 1) + b"".join(parts))

    return pack


def text_bytes(value: str) -> bytes:
    """A text as the server takes it, which knows no NUL and no half of a surrogate pair."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = value.encode(errors="replace")
    return encoded.replace(b"\0", b"\xef\xbf\xbd") if b"\0" in encoded else encoded


def _texts(values: Sequence[object]) -> list[bytes | None]:
    try:
        encoded: list[bytes | None] = [*"\0".join(values).encode().split(b"\0")]  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):  # a null, or half of a surrogate pair
        encoded = []
    if len(encoded) != len(values):  # one of the texts contains a NUL
        encoded = [None if value is None else text_bytes(value) for value in values]  # type: ignore[arg-type]
    return encoded


def _bytes(values: Sequence[object]) -> list[bytes | None]:
    return list(values)  # type: ignore[arg-type]


_PACKERS: dict[str, Callable[[Sequence[object]], Column]] = {
    "smallint": _fixed(SmallintColumn, 21, "h"),
    "integer": _fixed(IntegerColumn, 23, "i"),
    "bigint": _fixed(BigintColumn, 20, "q"),
    "float8": _fixed(FloatColumn, 701, "d"),
    "boolean": _fixed(BooleanColumn, 16, "b"),
    "text": _variable(TextColumn, 25, _texts),
    "bytea": _variable(ByteaColumn, 17, _bytes),
}


def pack_rows(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Column]:
    """The rows of values as one array for each column. Raises OverflowError for a number that is too large, or
    is none."""
    # An iterator for each row would cost more than the only value of the row.
    by_column = zip(*rows, strict=True) if len(columns) > 1 else [[value for (value,) in rows]]
    try:
        return [_PACKERS[kind](values) for kind, values in zip(columns, by_column, strict=True)]
    except struct.error as error:
        raise OverflowError(f"a value does not fit its column: {error}") from error
