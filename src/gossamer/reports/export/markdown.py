"""Pages as Markdown files, `HOST/PATH.md`, each with its metadata as front matter."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.errors import UsageError
from gossamer.model.units import Instant
from gossamer.reports.export.formats import naming_full_disk, timestamp

_MAX_NAME = 100  # characters; file systems allow 255 bytes
_MAX_LEVELS = 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._~%@+,=-]")


def file_name(url: str) -> str:
    """The path of the file for a URL, relative to the folder of the export. It stays below that folder; what cannot be
    part of a file name is replaced, and then the name ends with a part of the URL's digest, so that it stays unique."""
    rest = url.partition("://")[2]
    address, marked, _ = rest.partition("?")
    host, _, path = address.partition("/")
    *folders, name = path.split("/")
    safe = [_safe(part) for part in (host, *folders[:_MAX_LEVELS], name or "index")]
    changed = safe != [host, *folders, name] if name else safe[:-1] != [host, *folders]
    if changed or marked or name == "index":
        safe[-1] += "-" + hashlib.sha1(url.encode("utf-8", "replace")).hexdigest()[:8]
    return "/".join(safe) + ".md"


def _safe(part: str) -> str:
    part = _UNSAFE.sub("_", part)[:_MAX_NAME]
    return "_" if part in {"", ".", ".."} else part


class MarkdownFolder:
    """Writes one file per page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(
        self,
        url: str,
        markdown: str,
        *,
        title: str | None,
        fetched_at: Instant | None,
        language: str | None,
        digest: str | None,
    ) -> None:
        """Write the page. Of two pages with the same path (http and https, say) the second has a digest in its name."""
        name = file_name(url)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            digits = hashlib.sha1(url.encode("utf-8", "replace")).hexdigest()[:8]
            path = path.with_name(f"{path.name.removesuffix('.md')}-{digits}.md")
        meta = {
            "url": url,
            "title": title,
            "fetched_at": None if fetched_at is None else timestamp(fetched_at),
            "language": language,
            "digest": digest,
        }
        # JSON strings are YAML strings.
        front = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in meta.items())
        path.write_text(f"---\n{front}---\n\n{markdown.strip()}\n", encoding="utf-8", errors="backslashreplace")


@contextmanager
def open_folder(name: str) -> Iterator[MarkdownFolder]:
    """A new folder, which appears when the block is done. If the block raises, nothing is left. Raises UsageError if it
    exists and is not empty."""
    folder = Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "is not empty" if folder.is_dir() else "is not a directory"
        raise UsageError(f"-o: {name} {what}; give a new directory for the Markdown files")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        unfinished.mkdir(parents=True)
        with naming_full_disk(name):
            yield MarkdownFolder(unfinished)
        if folder.exists():
            folder.rmdir()
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
