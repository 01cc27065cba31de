"""Who has no token gets nothing that needs one: every route and method of the description, on this machine and bound
elsewhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.service.access import API_PREFIX, CHANGING, LIVENESS, LOGIN, PAGES
from gossamer.service.app import description
from tests.service.service_process import Answer, Service

pytestmark = pytest.mark.service

METHODS = ("GET", "HEAD", "OPTIONS", *sorted(CHANGING))
CALLS = [
    (method, path) for path in (*description()["paths"], *PAGES, "/openapi.json", "/nowhere") for method in METHODS
]


class Places(NamedTuple):
    """The same service, bound to this machine and to all addresses."""

    here: Service
    elsewhere: Service


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("tokens")
    with Service(folder / "here") as here, Service(folder / "elsewhere", "--host", "0.0.0.0") as elsewhere:
        yield Places(here, elsewhere)


def asked(service: Service, method: str, path: str, authorization: str | None) -> Answer:
    headers = {"Content-Type": "application/json"}
    if authorization is not None:
        headers["Authorization"] = authorization
    return service.ask(method, path.replace("{host}", "a.test"), b"{}" if method in CHANGING else None, headers)


@pytest.mark.parametrize("method", sorted({method for method, _ in CALLS}))
def test_ap_05_without_the_token_every_call_that_needs_it_is_refused(places: Places, method: str) -> None:
    for path in (path for each, path in CALLS if each == method):
        check_refused(places, method, path)


def check_refused(places: Places, method: str, path: str) -> None:
    for service, open_to_all in ((places.here, method not in CHANGING), (places.elsewhere, False)):
        for authorization in (None, "Bearer " + "x" * 43, f"Basic {service.token}", f"Bearer {service.token}x"):
            if path == "/events" and method == "GET" and open_to_all:
                continue  # it never ends
            response = asked(service, method, path, authorization)
            if path in LIVENESS or open_to_all:
                assert response.status != 401, path
            elif path in PAGES and method in ("GET", "HEAD"):
                assert response.status == 303 and response.headers["location"] == "/login"
            else:
                assert response.status == 401 and response.headers["www-authenticate"] == "Bearer", path
                assert method == "HEAD" or response.json["error"] == "missing or wrong token", path


def test_with_the_token_no_call_is_refused_for_want_of_it(places: Places) -> None:
    calls = [call for call in CALLS if call != ("GET", "/events")]
    found = {
        (service.port, *call): asked(service, *call, f"Bearer {service.token}").status
        for service in places
        for call in calls
    }

    assert {call: status for call, status in found.items() if status in (401, 403)} == {}
    assert len(found) == 2 * len(calls)


@pytest.mark.parametrize("path", [path for path, ways in description()["paths"].items() if "post" in ways])
def test_ap_06_a_body_that_is_not_called_json_is_refused_by_every_route(places: Places, path: str) -> None:
    where = path.replace("{host}", "a.test")

    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert places.here.post(where, {"action": "stop"}, Content_Type=kind).status == 415


def test_ap_05_the_token_is_in_no_log(places: Places) -> None:
    for service in places:
        for file in Path(service.directory).iterdir():
            if file.is_file() and file.name != "service.token":
                assert service.token.encode() not in file.read_bytes()


def test_each_route_exists_under_the_prefix_of_its_version_too(places: Places) -> None:
    service = places.elsewhere
    token = {"Authorization": f"Bearer {service.token}"}
    for path in ("/openapi.json", *description()["paths"]):
        where = path.replace("{host}", "a.test")
        if path != "/events":
            found = [service.get(prefix + where, **token) for prefix in ("", API_PREFIX)]
            assert found[0].status == found[1].status, path
            assert found[0].headers["content-type"] == found[1].headers["content-type"], path
            assert service.get(API_PREFIX + where).status == (200 if path in LIVENESS else 401)
    added = service.post(f"{API_PREFIX}/seed/urls", b"http://a.test/1\n" * 3, Content_Type="application/x-ndjson")
    assert added.json["accepted"] == 1
    assert service.get(f"{API_PREFIX}/hosts/a.test", **token).json["host"] == "a.test"
    assert service.post(f"{API_PREFIX}/crawl", {"action": "pause"}).json == {"state": "paused"}
    for page in (*PAGES, LOGIN, "/page/style.css", "/api/v1/status"):
        assert service.get(API_PREFIX + page, **token).status == 404, page
