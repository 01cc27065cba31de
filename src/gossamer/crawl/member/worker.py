"""Who a worker is: its options, its name and epoch, and the file in its directory that keeps them."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gossamer.crawl.run.directory import WORKER
from gossamer.errors import DirectoryError
from gossamer.model.units import Epoch


class Worker(NamedTuple):
    """How a process takes part in a crawl that workers share."""

    name: str | None = None  # by default that of the last worker in the directory, or a new one
    weight: float = 1.0  # its share of the partitions, in relation to those of the others
    joins: bool = False  # a crawl that was started by another process, with the options of that one


STARTER = Worker("starter", weight=1e-6)
"""The worker that creates or opens a crawl by several workers on one machine: it gets no partitions, and leaves."""


class WorkerLife(NamedTuple):
    """One life of a worker: from joining to leaving, or to its death."""

    name: str
    epoch: Epoch  # a random number of 63 bits
    version: str  # of Gossamer
    weight: float = 1.0
    joins: bool = False


class WorkerFile:
    """DIR/worker.json: the name of the worker, its epochs whose end is not on record yet, and a random number that
    tells its WARC files from those of a worker of the same name in another directory."""

    def __init__(self, directory: Path, number: str = "") -> None:
        """`number`: of the WARC files, if there is no worker in the directory yet. Raises DirectoryError."""
        self._path = directory / WORKER
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {"files": number}
        except (OSError, ValueError) as error:
            raise DirectoryError(
                f"cannot read {self._path}: {error}; remove it if no worker uses {directory}"
            ) from error
        self.name: str | None = found.get("name")
        self.epochs = [Epoch(epoch) for epoch in found.get("epochs", ())]
        self._files = str(found.get("files", ""))  # earlier versions had none

    def files_of(self, name: str) -> str:
        """How the names of the WARC files in this directory begin, after that of the program."""
        return f"{name}-{self._files}" if self._files else name

    def save(self, name: str, epochs: Iterable[Epoch]) -> None:
        """Durable on return. Raises DirectoryError."""
        self.name, self.epochs = name, list(epochs)
        draft = self._path.with_suffix(".new")
        try:
            with draft.open("w", encoding="utf-8") as file:
                json.dump({"name": name, "epochs": self.epochs, "files": self._files}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
        except OSError as error:
            raise DirectoryError(f"cannot write {self._path}: {error.strerror}") from error
