"""Routes that take their own parameters and no others: a slip of the pen is told, not passed over."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from gossamer.service.bodies import problem
from gossamer.service.wrong import shown


class StrictRoute(APIRoute):
    """Refuses a parameter that it does not have, or that is given twice, with 422. Where there are none at all nothing
    can be meant by one: scrapers and proxies add their own, and they are passed over."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = {parameter.alias for parameter in self.dependant.query_params}
        if not known:
            return handle

        async def strict(request: Request) -> Response:
            if request.scope["query_string"]:
                _check(request, known)
            return await handle(request)

        return strict


def _check(request: Request, known: set[str]) -> None:
    met: set[str] = set()
    for name, value in request.query_params.multi_items():
        if name not in known:
            has = ", ".join(sorted(known))
            raise problem(422, f"{shown(name)} is no parameter of {request.url.path}; there are {has}", name[:100])
        if name in met:
            raise problem(422, f"{name}: given twice, again as {shown(value)}", name)
        met.add(name)
