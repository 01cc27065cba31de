"""The first page: what a browser sees at /."""

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response


def add_dashboard(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def first() -> Response:
        return RedirectResponse("/status")
