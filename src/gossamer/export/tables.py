"""What the tables hold: columns with their kinds, and rows as tuples in that order."""

from enum import Enum
from typing import NamedTuple

Value = str | int | float | bool | None
Row = tuple[Value, ...]


class Kind(Enum):
    TEXT = "text"
    WHOLE = "whole number"
    REAL = "number"
    FLAG = "true or false"
    MOMENT = "moment"
    """Seconds since the epoch in a row; how it is written is a matter of the format."""


class Column(NamedTuple):
    name: str
    kind: Kind = Kind.TEXT


PAGES = (
    Column("url"),
    Column("host"),
    Column("state"),
    Column("status", Kind.WHOLE),
    Column("depth", Kind.WHOLE),
    Column("priority", Kind.REAL),
    Column("size", Kind.WHOLE),
    Column("mime"),
    Column("title"),
    Column("language"),
    Column("canonical"),
    Column("digest"),
    Column("fetched_at", Kind.MOMENT),
    Column("took", Kind.REAL),
    Column("next_visit", Kind.MOMENT),
    Column("found_at", Kind.MOMENT),
    Column("found_on"),
    Column("links", Kind.WHOLE),
    Column("duplicate_of"),
    Column("near_duplicate_of"),
    Column("distance", Kind.WHOLE),
    Column("redirect_to"),
    Column("reason"),
    Column("truncated"),
    Column("etag"),
    Column("last_modified"),
    Column("warc_file"),
    Column("warc_offset", Kind.WHOLE),
    Column("warc_length", Kind.WHOLE),
)
LINKS = (
    Column("source"),
    Column("target"),
    Column("text"),
    Column("kind"),
    Column("rel"),
    Column("nofollow", Kind.FLAG),
    Column("hreflang"),
)
TEXT = (
    Column("url"),
    Column("fetched_at", Kind.MOMENT),
    Column("status", Kind.WHOLE),
    Column("mime"),
    Column("language"),
    Column("title"),
    Column("description"),
    Column("canonical"),
    Column("digest"),
    Column("text"),
)
EDGES_BY_URL = (Column("source"), Column("target"))
EDGES_BY_ID = (Column("source", Kind.WHOLE), Column("target", Kind.WHOLE))
