"""How is a page asked for that we have? So that a server may answer that nothing has changed."""

import re
from typing import Final

from gossamer.fetch.http.headers import http_date
from gossamer.model.task import Before

PROBE: Final = 10
"""Every so many visits a page is asked for without conditions: a server that always says 304 is found out."""

_PLAIN = re.compile(r"[ -~]{1,512}").fullmatch


def conditions_of(before: Before) -> tuple[tuple[str, str], ...]:
    """The fields of the request. None where a document is wanted in any case."""
    if not before.has_document or not before.whole or before.visits % PROBE == PROBE - 1:
        return ()
    fields = []
    if before.etag is not None and _PLAIN(before.etag):
        fields.append(("If-None-Match", before.etag))
    if before.last_modified is not None and _PLAIN(before.last_modified):
        date = http_date(before.last_modified, before.at)
        if date is not None and date <= before.at:
            fields.append(("If-Modified-Since", before.last_modified))
    return tuple(fields)
