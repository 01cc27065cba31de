"""Other people's judgement of our WARC files: `warcio check`, and fastwarc's reader."""

from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.bufferedreaders import BufferedReader
from warcio.checker import Checker


def check_by_warcio(paths: Iterable[Path]) -> None:
    """What `warcio check` does. Fails with its words."""
    # With brotli beside it, warcio falls over every body that is packed with it, before it has read a byte: it sets an
    # attribute that brotli's decompressors do not have. Without brotli it takes such a body as it is.
    BufferedReader.DECOMPRESSORS.pop("br", None)
    said = StringIO()
    with redirect_stdout(said):
        status = Checker(SimpleNamespace(inputs=[str(path) for path in paths], verbose=False)).process_all()
    assert (status, said.getvalue()) == (0, "")


def check_by_fastwarc(paths: Iterable[Path]) -> int:
    """Every block digest, and every payload digest of an answer. Returns how many records there are."""
    number = 0
    for path in paths:
        with path.open("rb") as file:
            for record in FastIterator(file, parse_http=False, auto_decode="none"):
                number += 1
                kind = record.headers["WARC-Type"]
                assert record.verify_block_digest(), dict(record.headers)
                if kind == "response":
                    record.parse_http()
                    assert record.verify_payload_digest(), dict(record.headers)
    return number


def check_warcs(folder: Path) -> int:
    """All files of a crawl, by both. Returns how many records there are."""
    paths = sorted(folder.glob("*.warc.gz"))
    check_by_warcio(paths)
    return check_by_fastwarc(paths)
