"""How a page that we have is asked for: so that the server may answer that nothing has changed."""

import re
from typing import Final

from gossamer.fetch.http.headers import http_date
from gossamer.model.task import Before

PROBE: Final = 10
"""Every so many visits a page is asked for without conditions: a server that always says 304 is found out."""

_PLAIN = re.compile(r"[ -~]{1,512}").fullmatch


def conditions_for(before: Before | None, *, lies: bool) -> tuple[tuple[str, str], ...]:
    """The fields of the request. None if we have no whole document, or if the host `lies`: what it says of documents
    stayed when they changed."""
    if before is None or lies or not before.has_document or not before.whole or before.visits % PROBE == PROBE - 1:
        return ()
    fields = []
    if before.etag is not None and _PLAIN(before.etag):
        fields.append(("If-None-Match", before.etag))
    if before.last_modified is not None and _PLAIN(before.last_modified):
        date = http_date(before.last_modified, before.at)
        if date is not None and date <= before.at:
            fields.append(("If-Modified-Since", before.last_modified))
    return tuple(fields)


def says_the_same(before: Before, etag: str | None, modified: str | None) -> bool:
    """Whether a server says of a document that it is the one that we have."""
    if etag is not None and before.etag is not None:
        return etag == before.etag
    return etag is None and before.etag is None and modified is not None and modified == before.last_modified
