"""Where the workers of a crawl are: DIR/worker-1, DIR/worker-2 and so on, and DIR/workers.json, which says how many."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from gossamer.errors import NotThisCrawl

FILE = "workers.json"


def parts_of(directory: Path) -> list[Path]:
    """The directories of a crawl's parts: itself, if it is by one worker. Raises NotThisCrawl."""
    found = read_layout(directory)
    return [directory] if found is None else [part_directory(directory, number) for number in range(found[0])]


def part_directory(directory: Path, number: int) -> Path:
    """Of the part with this number, from 0; people count from 1."""
    return directory / f"worker-{number + 1}"


def holds_crawl(directory: Path) -> bool:
    """Whether a crawl is there, by one worker or by several."""
    return (directory / "crawl.db").exists() or (directory / FILE).exists()


def read_layout(directory: Path) -> tuple[int, dict[str, object]] | None:
    """How many workers a crawl has and what it remembers; None if it is by one worker, or there is none."""
    path = directory / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        workers, options = int(found["workers"]), dict(found["options"])
        if workers < 1:
            raise ValueError(workers)
        return workers, options
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotThisCrawl(f"{path} cannot be read ({error})") from error


def settle_layout(directory: Path, workers: int, options: Mapping[str, object]) -> None:
    """Write down how many workers there are; once, it stays so. Raises NotThisCrawl where it is otherwise already."""
    if (directory / "crawl.db").exists():
        raise NotThisCrawl(
            f"{directory} holds a crawl by one worker, not by {workers}; leave --workers out, or choose another --dir"
        )
    found = read_layout(directory)
    if found is not None and found[0] != workers:
        raise NotThisCrawl(
            f"{directory} holds a crawl by {found[0]} workers, not by {workers}; their parts cannot be joined: leave "
            "--workers out, or choose another --dir"
        )
    made = _was_made(directory)
    for part in parts_of(directory) if made else ():
        if not (part / "crawl.db").exists():
            # Made anew it would be empty, and what the others have handed over to it would be lost.
            raise NotThisCrawl(f"{part} is missing, which {directory} needs: bring it back, or begin in another --dir")
    _write(directory, workers, options, made=made)


def parts_were_made(directory: Path) -> None:
    """From now on every part is there, or something is wrong."""
    found = read_layout(directory)
    if found is not None and not _was_made(directory):
        _write(directory, *found, made=True)


def _was_made(directory: Path) -> bool:
    path = directory / FILE
    return path.exists() and bool(json.loads(path.read_text(encoding="utf-8")).get("made"))


def _write(directory: Path, workers: int, options: Mapping[str, object], *, made: bool) -> None:
    draft = directory / f".{FILE}.new"
    text = json.dumps({"workers": workers, "made": made, "options": options}, indent=1)
    draft.write_text(text + "\n", encoding="utf-8")
    os.replace(draft, directory / FILE)
