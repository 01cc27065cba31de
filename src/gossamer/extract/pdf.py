"""The text of PDF documents, read by a child process: `python -m gossamer.extract.pdf`. Needs pypdf, the extra `pdf`.

A PDF can be constructed to take any amount of time and memory, so the child has limits on both and is ended when it
exceeds one.
"""

import importlib.util
import subprocess
import sys
from typing import Final

from gossamer.errors import MissingExtra
from gossamer.extract.main_text import MAX_TEXT

MAX_SECONDS: Final = 20
MAX_MEMORY: Final = 256 * 1024 * 1024
MAX_PAGES: Final = 2_000

UNREADABLE = "pdf_unreadable"
"""The reason why a PDF has no text: damaged, encrypted, or beyond the limits."""

_MAX_WALL_SECONDS = 15 * MAX_SECONDS  # the limit is in CPU time: a busy machine reads what an idle one reads


def is_pdf(content_type: str | None, body: bytes) -> bool:
    essence = (content_type or "").partition(";")[0].strip().lower()
    return essence == "application/pdf" or (not essence and body.startswith(b"%PDF-"))


def is_pdf_supported() -> bool:
    """Whether the extra `pdf` is installed."""
    return importlib.util.find_spec("pypdf") is not None


def pdf_text(body: bytes) -> str | None:
    """The text of a document, empty if it contains only images; None if it cannot be read (`UNREADABLE`). Blocks for up
    to 20 s of CPU time. Raises MissingExtra."""
    if not is_pdf_supported():
        raise MissingExtra("the text of PDF documents", "pypdf", "pdf")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gossamer.extract.pdf"],
            input=body,
            capture_output=True,
            timeout=_MAX_WALL_SECONDS,
            start_new_session=True,  # Ctrl-C at the terminal is not for the child
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    return done.stdout.decode("utf-8", "replace")[:MAX_TEXT]


def _read(body: bytes) -> str:
    """Raises whatever pypdf raises."""
    import io
    import logging

    from pypdf import PdfReader

    logging.disable(logging.CRITICAL)
    texts: list[str] = []
    length = 0
    for page in PdfReader(io.BytesIO(body)).pages[:MAX_PAGES]:
        texts.append(page.extract_text().strip())
        length += len(texts[-1])
        if length > MAX_TEXT:
            break
    return "\n\n".join(text for text in texts if text)[:MAX_TEXT]


def _main() -> int:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    try:
        text = _read(sys.stdin.buffer.read())
    except Exception:  # damaged in one of the many ways that pypdf knows, or out of memory
        return 1
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
