"""`stream`: the documents of a running crawl, for programs in other processes."""

import os
import socket
from collections.abc import Generator

from gossamer.crawl.run.cache import read_documents
from gossamer.model.announcement import StreamedDocument


def stream(
    url: str,
    *,
    group: str,
    consumer: str | None = None,
    crawl: str | None = None,
    new_only: bool = False,
    claim_after: float = 60.0,
    patience: float | None = None,
) -> Generator[StreamedDocument, None, None]:
    """Iterate over the documents that a crawl with `--cache URL` and `[cache] documents = N` announces.

    Programs that read as one `group` share the documents; each group receives all of them. `consumer` names this
    program within its group (default: machine and process). A document is acknowledged after the body of the loop,
    when the next one is asked for. One that was not acknowledged for `claim_after` seconds, because its program was
    killed or is slower than that, is given to another program of the group. So every announced document is received at
    least once; `repeat` says that it was delivered before. Documents that were not announced show as the `gap` of the
    next one.

    `crawl` is the id of the crawl, needed if the server has documents of several. A new group begins with the oldest
    document in the stream, or with `new_only` at its end. The iteration ends after `patience` seconds without a
    document; without `patience` it does not end. It waits for a server that is away; only at the start, one that cannot
    be reached raises ConnectionLost. Raises UsageError for arguments that cannot be used.
    """
    name = consumer or f"{socket.gethostname()}-{os.getpid()}"
    return read_documents(url, group, name, crawl=crawl, new_only=new_only, claim_after=claim_after, patience=patience)
