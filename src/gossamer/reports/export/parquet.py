"""Rows as Arrow tables and as Parquet. Needs pyarrow, the extra `parquet`, which is imported only here and only when it
is asked for."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, BinaryIO

from gossamer.errors import MissingExtra
from gossamer.reports.export.tables import Column, Kind, Row, Value, schema_name

ROWS_IN_GROUP = 50_000
BYTES_IN_GROUP = 64 * 1024 * 1024


class ArrowColumns:
    """Turns rows into Arrow tables. Raises MissingExtra without pyarrow, naming the feature that needs it."""

    def __init__(self, columns: Sequence[Column], feature: str) -> None:
        try:
            import pyarrow
        except ImportError:
            raise MissingExtra(feature, "pyarrow", "parquet") from None
        kinds: dict[Kind, Any] = {
            Kind.TEXT: pyarrow.string(),
            Kind.WHOLE: pyarrow.int64(),
            Kind.REAL: pyarrow.float64(),
            Kind.FLAG: pyarrow.bool_(),
            Kind.MOMENT: pyarrow.timestamp("ms", tz="UTC"),
            Kind.PARTS: pyarrow.string(),
        }
        self._arrow = pyarrow
        self._kinds = [column.kind for column in columns]
        name = schema_name(columns)
        self.schema = pyarrow.schema(
            [pyarrow.field(column.name, kinds[column.kind], column.null) for column in columns],
            {} if name is None else {"gossamer.schema": name},
        )

    def table(self, rows: Sequence[Row]) -> Any:
        """The `pyarrow.Table` of some rows."""
        if not rows:
            return self.schema.empty_table()
        columns = [
            [_plain(value, kind) for value in column]
            for column, kind in zip(zip(*rows, strict=True), self._kinds, strict=True)
        ]
        arrays = [self._arrow.array(values, field.type) for values, field in zip(columns, self.schema, strict=True)]
        return self._arrow.Table.from_arrays(arrays, schema=self.schema)

    def table_of_all(self, rows: Iterable[Row]) -> Any:
        """The `pyarrow.Table` of all rows, made in parts: a row takes less memory there than in Python."""
        stream = iter(rows)
        parts = [self.table(())]
        while some := list(islice(stream, ROWS_IN_GROUP)):
            parts.append(self.table(some))
        return self._arrow.concat_tables(parts)


class Parquet:
    """A row group at a time: as many rows as memory hardly notices. Raises MissingExtra without pyarrow."""

    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        self._columns = ArrowColumns(columns, "gossamer export --format parquet")
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(stream, self._columns.schema, compression="zstd")
        self._rows: list[Row] = []
        self._bytes = 0

    def write(self, rows: Sequence[Row]) -> None:
        self._rows += rows
        self._bytes += sum(len(value) for row in rows for value in row if isinstance(value, str))
        if len(self._rows) >= ROWS_IN_GROUP or self._bytes >= BYTES_IN_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        self._writer.write_table(self._columns.table(self._rows))
        self._rows.clear()
        self._bytes = 0


def _plain(value: Value, kind: Kind) -> Value:
    if kind is Kind.MOMENT and isinstance(value, float):
        return round(value * 1e6) // 1000 if 0 <= value < 253_402_300_800 else None  # as the text of other formats
    if kind is Kind.PARTS:
        return json.dumps(value)
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is no text
    return value
