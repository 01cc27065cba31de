"""The dashboard at /: one page, its script and its style, from files beside this module; nothing from elsewhere."""

from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

FOLDER = Path(__file__).parent / "page"
FILES = {
    "/": ("index.html", "text/html"),
    "/page/main.js": ("main.js", "text/javascript"),
    "/page/style.css": ("style.css", "text/css"),
}


@cache
def file_at(path: str) -> tuple[bytes, str]:
    """The file that a path means, and its type."""
    name, kind = FILES[path]
    return (FOLDER / name).read_bytes(), f"{kind}; charset=utf-8"


def add_dashboard(app: FastAPI) -> None:
    """Routes for the files, each by its name: no path of a caller ever names a file."""
    for path in FILES:
        _add_file(app, path)


def _add_file(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def file() -> Response:
        body, kind = file_at(path)
        return Response(body, headers={"Content-Type": kind})
