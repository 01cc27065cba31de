"""The dashboard at /: one page, its script and its style, from files beside this module; nothing from elsewhere."""

from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

FOLDER = Path(__file__).parent / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MODULES = (
    "main", "api", "charts", "dead", "dom", "figures", "forms", "health", "host", "hosts", "machine", "pages", "story",
    "stream", "text", "theme",
)  # fmt: skip
NAMES = ("icon.svg", "style.css", *(f"{module}.js" for module in MODULES))
FILES = {"/": "index.html", **{f"/page/{name}": name for name in NAMES}}
"""Path -> file. No path of a caller ever names a file."""


@cache
def file_at(path: str) -> tuple[bytes, str]:
    """The file that a path means, and its type."""
    found = FOLDER / FILES[path]
    return found.read_bytes(), f"{KINDS[found.suffix]}; charset=utf-8"


def add_dashboard(app: FastAPI) -> None:
    """A route for each file."""
    for path in FILES:
        _add_file(app, path)


def _add_file(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def file() -> Response:
        body, kind = file_at(path)
        return Response(body, headers={"Content-Type": kind})
