"""The file that an export goes to: in place when it is whole, and not before."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast


@contextmanager
def writing(name: str) -> Iterator[BinaryIO]:
    """A stream to the file `name`, or to standard output for `-`. Compressed if the name ends with `.gz`.

    The file appears when the block is done, in the place of an older one. If the block raises, nothing changes.
    """
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            if path.suffix == ".gz":
                # Neither name nor date: the same rows make the same file.
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
