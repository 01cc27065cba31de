"""What callers may do to the service, by the ids of the hostile web; one process for all of it."""

import http.client
import json
import os
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.integration.crawl_process import Constants, gossamer, wait_until
from tests.integration.small_server import Answer, SmallServer, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "gossamer.toml").write_text("[service]\nmax_body_bytes = 200000\n")
    connection = "gossamer.service.http_server.PatientConnection"
    constants = Constants({f"{connection}.head_timeout": 0.5, f"{connection}.most": 20})
    # Loopback is closed to this crawl but for one address: what callers name is not thereby permitted.
    options = ["--config", folder / "gossamer.toml", "--no-allow-private", "--allow-network", "127.0.0.1"]
    with Service(folder / "crawl", *options, constants) as served:
        yield served


def processes_of(service: Service) -> list[int]:
    """The crawl's and the front's, which has the connections."""
    children = Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split()
    assert children
    return [service.pid, *map(int, children)]


def resident(service: Service) -> int:
    """Bytes that all of its processes hold, shared ones counted for each."""
    lines = [line for pid in processes_of(service) for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def discovered(service: Service) -> object:
    """How many URLs are known. Tests share the service, so what one changes is compared with what was there before."""
    return service.get("/status").json["discovered"]


def raw(service: Service, *pieces: bytes) -> bytes:
    """What is answered to these bytes, up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            found = b""
            while more := connection.recv(65536):
                found += more
        except (ConnectionResetError, BrokenPipeError):
            return b""
        return found


def head(service: Service, *fields: str) -> bytes:
    usual = ["POST /seed/urls HTTP/1.1", "Host: localhost", f"Authorization: Bearer {service.token}"]
    return "\r\n".join([*usual, "Content-Type: application/json", *fields, "", ""]).encode()


def test_ap_01_a_body_past_the_cap_is_refused_with_or_without_a_length(service: Service) -> None:
    before, known = resident(service), discovered(service)
    declared = raw(service, head(service, "Content-Length: 1073741824"))
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(head(service, "Transfer-Encoding: chunked"))
        found = b""
        try:
            for _ in range(2000):  # 125 MiB, if anybody would read them
                connection.sendall(chunk)
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            pass
        try:
            found = connection.recv(65536)
        except ConnectionResetError:
            found = b""

    assert declared.startswith(b"HTTP/1.1 413")
    assert found == b"" or found.startswith(b"HTTP/1.1 413")
    assert resident(service) - before < 32 * 1024 * 1024
    assert discovered(service) == known


@pytest.mark.parametrize(
    "body",
    [b'{"urls": [', b'{"urls": []} x', b'{"urls": NaN}', b"[" * 100_000, b'{"urls": ["\xff"]}', b"", b"\0"],
    ids=["broken", "trailing", "nan", "nested", "utf8", "empty", "nul"],
)
def test_ap_02_what_is_no_json_is_a_short_400(service: Service, body: bytes) -> None:
    response = service.post("/seed/urls", body)

    assert response.status == 400
    assert len(response.body) < 500 and b"Traceback" not in response.body and response.json["error"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/seed/urls", {"urls": [1, None, {}]}, "urls"),
        ("/seed/urls", {"urls": []}, "urls"),
        ("/seed/urls", {}, "urls"),
        ("/seed/urls", {"urls": ["http://a.test/"], "more": 1}, "more"),
        ("/url/limit", {"depthLimit": "ten", "urlLengthLimit": 100}, "depthLimit"),
        ("/url/limit", {"depthLimit": 1.5, "urlLengthLimit": 100}, "depthLimit"),
        ("/url/limit", {"depthLimit": True, "urlLengthLimit": 100}, "depthLimit"),
        ("/crawl", {"action": "explode"}, "action"),
    ],
)
def test_ap_03_a_wrong_field_is_named_and_nothing_is_applied(
    service: Service, path: str, body: object, field: str
) -> None:
    known, limits = discovered(service), service.get("/url/limit").json

    response = service.post(path, body)

    assert response.status == 422
    assert str(response.json["field"]).startswith(field)
    assert service.post("/url/limit", b'{"depthLimit": 1e400, "urlLengthLimit": 9}').status in (400, 422)
    assert discovered(service) == known
    assert service.get("/url/limit").json == limits


def test_ap_06_other_sites_in_a_browser_change_nothing(service: Service) -> None:
    known, body = discovered(service), {"urls": ["http://a.test/"]}
    assert service.post("/seed/urls", body, Host="evil.test").status == 403
    assert service.post("/seed/urls", body, Origin="http://evil.test").status == 403
    assert service.post("/seed/urls", body, Content_Type="text/plain").status == 415
    answer = service.get("/status", Origin="http://evil.test")

    assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
    fine = service.get("/status")
    assert fine.headers["x-content-type-options"] == "nosniff" and "content-security-policy" in fine.headers
    assert fine.json["discovered"] == known


@pytest.mark.parametrize("path", ["/metrics/../../x", "/%2e%2e%2f", "/hosts/%00", "/hosts/..%2f..%2fx", "/nowhere"])
def test_ap_07_paths_lead_nowhere_else(service: Service, path: str) -> None:
    assert service.get(path).status in (400, 404, 422)


def test_ap_08_seeds_at_closed_addresses_are_refused_one_by_one(service: Service) -> None:
    closed = [
        "http://127.0.0.2/",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://0x7f.2/",
    ]
    known = discovered(service)
    response = service.post("/seed/urls", {"urls": [*closed, "http://2130706434/", "file:///etc/passwd"]}).json

    reasons = [each["reason"] for each in response["results"]]
    assert reasons == ["blocked_address"] * 6 + ["bad_scheme"]
    assert discovered(service) == known


def test_ap_09_line_ends_in_a_seed_are_refused(service: Service) -> None:
    known = discovered(service)
    response = service.post("/seed/urls", {"urls": ["http://a.test/", "http://a.test/\r\nX-Evil: 1"]})

    assert (response.status, response.json["field"]) == (422, "urls.1")
    assert discovered(service) == known


def test_ap_10_slow_heads_are_cut_off_and_connections_are_counted(service: Service) -> None:
    slow = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(15)]
    for each in slow:
        each.sendall(b"GET /status HTTP/1.1\r\nHo")

    assert service.get("/status").status == 200
    assert [each.recv(100) if _is_open(each) else b"" for each in slow] == [b""] * 15
    for each in slow:
        each.close()


def test_ap_10_a_thousand_idle_connections_are_closed_while_other_callers_are_answered(service: Service) -> None:
    caller = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    answers = []
    try:
        answers.append(_asked(caller))  # its connection is there before the others come
        idle = []
        for number in range(1000):
            idle.append(socket.create_connection(("127.0.0.1", service.port), timeout=60))
            if number % 20 == 0:
                answers.append(_asked(caller))
        closed = [not _is_open(each) for each in idle]
        answers.append(_asked(caller))
    finally:
        caller.close()

    assert answers == [200] * 52 and all(closed)
    assert service.get("/status").status == 200
    for each in idle:
        each.close()


def test_ap_10_a_newcomer_takes_the_place_of_the_connection_that_has_been_silent_for_longest(service: Service) -> None:
    room = 20  # connections
    silent = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(3 * room)]

    newcomers = [http.client.HTTPConnection("127.0.0.1", service.port, timeout=60) for _ in range(5)]
    answers = [_asked(each) for each in newcomers]  # all of them at the same time

    assert answers == [200] * 5
    for connection in newcomers:
        connection.close()
    for each in silent:
        each.close()


def _asked(caller: http.client.HTTPConnection) -> int:
    caller.request("GET", "/status")
    answer = caller.getresponse()
    answer.read()
    return answer.status


def _is_open(connection: socket.socket) -> bool:
    """Whether anything but an end comes."""
    try:
        return bool(connection.recv(100, socket.MSG_PEEK))
    except ConnectionResetError:
        return False


def test_ap_16_origins_and_hosts_that_cannot_be_are_refused(service: Service) -> None:
    def status(*lines: str) -> bytes:
        return raw(service, "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))[9:12]

    get, host = "GET /status HTTP/1.1", "Host: localhost"

    for origin in ("http://[", "http://[::1", "//", "[", "http://localhost:x@", "\xff", "null"):
        assert status(get, host, f"Origin: {origin}") == b"403", origin
    assert status(get, host, "Origin: http://localhost") == b"200"
    assert status(get, host, "Origin: http://localhost", "Origin: http://localhost") == b"403"
    for hosts in (["localhost", "localhost"], ["localhost", "evil.test"], ["evil.test", "localhost"], []):
        assert status(get, *(f"Host: {name}" for name in hosts)) == b"400", hosts
    for name in ("[", "[::1", "localhost, localhost", "localhost:x@evil.test", ""):
        assert status(get, f"Host: {name}") == b"403", name
    for line in ("CONNECT localhost:1 HTTP/1.1", "GET http://[ HTTP/1.1", "OPTIONS * HTTP/1.1"):
        assert status(line, host) in (b"400", b"404", b"405"), line


def test_ap_17_the_process_is_known_to_be_alive_while_all_connections_are_in_use(service: Service) -> None:
    holding = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(20)]
    try:
        for each in holding:
            each.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for each in holding:
            assert each.recv(12) == b"HTTP/1.1 200"  # and no more is read
        idle = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(30)]

        health = [service.get(path).status for path in ("/healthz", "/readyz") for _ in range(15)]
        other, foreign = service.get("/status"), service.get("/healthz", Host="evil.test")
        for each in idle:
            each.close()
    finally:
        for each in holding:
            each.close()

    assert set(health) == {200}
    assert (other.status, other.json["error"], other.headers["retry-after"]) == (503, "too many connections", "1")
    assert foreign.status == 403
    wait_until(lambda: service.get("/status").status == 200, "the connections to be free")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"depthLimit": -1, "urlLengthLimit": 100}, "depthLimit"),
        ({"depthLimit": 10**30, "urlLengthLimit": 100}, "depthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": 0}, "urlLengthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": -5}, "urlLengthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": 10**9}, "urlLengthLimit"),
        ({"depthLimit": None, "urlLengthLimit": 100}, "depthLimit"),
        ({"depthLimit": 1, "urlLengthLimit": 100, "excludedDomains": ["a.test", "http://b.test/"]}, "excludedDomains"),
        ({"depthLimit": 1, "urlLengthLimit": 100, "delay": 0}, "delay"),
        ({"depthLimit": 1, "urlLengthLimit": 100, "robots": False}, "robots"),
    ],
)
def test_ap_12_limits_that_cannot_be_are_refused_and_change_nothing(
    service: Service, body: dict[str, object], field: str
) -> None:
    before = service.get("/url/limit").json

    response = service.post("/url/limit", body)

    assert (response.status, response.json["field"].partition(".")[0]) == (422, field)
    assert service.get("/url/limit").json == before


def test_ap_12_no_order_goes_below_the_delay_or_lifts_robots_or_the_address_policy(service: Service) -> None:
    rules = Answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"})
    with SmallServer({"/": page("here"), "/robots.txt": rules, "/private": page("not for us")}) as site:
        widest = {"excludedDomains": [], "depthLimit": 1_000_000, "urlLengthLimit": 65_536}
        assert service.post("/url/limit", widest).status == 200
        given = [site.base + "/", site.base + "/private", "http://127.0.0.9/", "http://169.254.169.254/"]
        response = service.post("/seed/urls", {"urls": given}).json
        for seconds in (0, 0.001, 0.0199, -1, 1e9):
            refused = service.post("/hosts/127.0.0.1", {"action": "delay", "seconds": seconds})
            assert (refused.status, refused.json["field"]) == (422, "seconds")
        assert service.post("/hosts/nobody.test", {"action": "delay", "seconds": 5}).status == 404
        service.wait_for(site.base + "/", "stored")
        service.wait_for(site.base + "/private", "excluded")
        assert service.pages()[site.base + "/private"]["reason"] == "robots_denied"

    assert [each["reason"] for each in response["results"]] == [None, None, "blocked_address", "blocked_address"]
    assert "/private" not in site.paths()
    assert service.post("/url/limit", {"depthLimit": 20, "urlLengthLimit": 2083}).status == 200


def test_clients_of_the_stream_receive_status_and_visits(service: Service) -> None:
    with SmallServer({"/": page("watched")}) as site:
        home, events = site.base + "/", service.events()
        assert next(events)[0] == "history"
        service.post("/seed/urls", {"urls": [home]})
        statuses: list[dict[str, object]] = []
        visits: list[dict[str, object]] = []
        while not visits:
            name, _, data = next(events)
            if name == "status":
                statuses.append(json.loads(data))
            elif name == "visits":
                visits += [visit for visit in json.loads(data) if visit["url"] == home]
        events.close()

    assert statuses and {status["politeness_violations"] for status in statuses} == {0}
    assert [visit["state"] for visit in visits] == ["stored"]


def test_ap_13_odd_agents_paths_and_names_leave_a_clean_log(service: Service) -> None:
    escape = "\x1b[31m"
    for agent in (escape + "u" * 6000, "x" * 65_000, "a%0ab", "\xff" * 100):
        assert service.get("/status", **{"User-Agent": agent}).status in (200, 400)
    for path in ("/%0a%1b[31m", "/hosts/%0a%1b%5b31m", "/" + "p" * 60_000, "/" + "q" * 70_000, "/explain?url=%1b%0a"):
        assert service.get(path).status in (200, 400, 404)
    odd = ["http://a%0ab.test/", f"http://{'x' * 60}.{'y' * 60}.test/", "http://\u202eevil.test/", "http://*'!~.test/"]
    response = service.post("/seed/urls", {"urls": odd}).json
    for each in response["results"]:
        if each["status"] != "refused":
            host = urlsplit(each["url"]).hostname
            assert service.post(f"/hosts/{quote(str(host))}", {"action": "pause"}).status == 200
    taken = {each["url"] for each in response["results"] if each["status"] != "refused"}
    wait_until(lambda: service.log.count('"host.paused"') >= len(taken), "the log to be written")

    log = service.log.encode().splitlines()
    for line in log:
        assert len(line) <= 1024 and json.loads(line) and line.isascii()
        assert service.token.encode() not in line and b"\x1b" not in line
    paused = [json.loads(line)["host"] for line in log if b'"host.paused"' in line]
    assert len(paused) == len(taken) > 0


def test_ap_15_while_the_store_is_locked_changes_are_answered_with_503(tmp_path: Path) -> None:
    patience = Constants({"gossamer.service.front_process.COMMIT_PATIENCE": 0.5})
    seed = {"urls": ["http://locked.test/"]}
    with Service(tmp_path / "crawl", patience) as service:
        db = sqlite3.connect(service.directory / "crawl.db", timeout=60)
        db.execute("BEGIN EXCLUSIVE")
        try:
            response = service.post("/seed/urls", seed)
            assert response.status == 503 and int(response.headers["retry-after"]) <= 1
            assert service.get("/status").status == service.get("/healthz").status == 200
        finally:
            db.execute("ROLLBACK")
            db.close()
        wait_until(lambda: service.post("/seed/urls", seed).status == 200, "the store to be back")


def test_a_service_bound_elsewhere_needs_a_token_that_only_its_owner_can_read(tmp_path: Path) -> None:
    (tmp_path / "service.token").write_text("x" * 40)
    os.chmod(tmp_path / "service.token", 0o644)
    ended = gossamer("serve", "--dir", tmp_path, "--host", "0.0.0.0", "--port", 0)

    assert ended.status == 1
    assert "service.token is readable by other users" in ended.err and "x" * 40 not in ended.err


def test_a_token_that_is_brought_along_is_the_token(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    directory.mkdir()
    (directory / "service.token").write_text("brought-along-by-its-owner\n")
    os.chmod(directory / "service.token", 0o600)
    with Service(directory) as service:
        response = service.post("/crawl", {"action": "pause"}, Authorization="Bearer brought-along-by-its-owner")

    assert response.status == 200
