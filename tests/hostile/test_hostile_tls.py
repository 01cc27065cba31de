"""TLS, TL-01 to TL-07: whom we believe, how long a handshake may take, and what the operator may switch off."""

import asyncio
import ssl
from pathlib import Path

import pytest

from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, Response
from tests.fetch.http.scripted_server import PATIENT, Script, Talk, always, answered, failed, hasty
from tests.fetch.http.tls_trust import authority, stranger
from tests.hostile.scripted import GOOD_PAGE, drive, page, site
from tests.hostile.small_crawl import NEIGHBOUR, RETRY, SmallCrawl, archived
from tests.integration.crawl_process import Constants, gossamer

ALERT = b"\x15\x03\x03\x00\x02\x02"  # a record with a fatal alert; its number follows
UNRECOGNIZED_NAME, PROTOCOL_VERSION = b"\x70", b"\x46"


def refused(
    tls: ssl.SSLContext | None, script: Script | None = None, *, host: str = "x.test", limits: FetchLimits = PATIENT
) -> Failed:
    with site(script or always(page()), tls=tls) as server:

        async def work(fetcher: CurlFetcher) -> Failed:
            return await failed(fetcher, server.request(scheme="https", host=host))

        outcome = drive(work, limits, ca_file=authority().ca_file)
        assert outcome.contacted
        assert server.heard == []  # nothing was asked of a peer that we do not believe
        return outcome


def taken_unverified(tls: ssl.SSLContext, *, host: str = "x.test") -> Response:
    """With the switch, for this host alone."""
    with site(always(page()), tls=tls) as server:

        async def work(fetcher: CurlFetcher) -> Response:
            request = server.request(scheme="https", host=host, options=HostOptions(verify=False))
            response = await answered(fetcher, request)
            # Another request, without the switch, does not profit from the connection that is open.
            await failed(fetcher, server.request(scheme="https", host=host))
            return response

        return drive(work, ca_file=authority().ca_file)


def test_tl_01_an_expired_certificate_is_refused_unless_the_switch_is_on() -> None:
    tls = authority().server_side("x.test", expired=True)

    assert refused(tls).failure is Failure.TLS_EXPIRED
    response = taken_unverified(tls)
    assert response.wire_body == GOOD_PAGE
    assert response.unverified


def test_tl_02_a_certificate_that_nobody_vouches_for_is_refused_unless_the_switch_is_on() -> None:
    tls = stranger().server_side("x.test")

    assert refused(tls).failure is Failure.TLS_UNTRUSTED
    assert taken_unverified(tls).unverified


def test_tl_03_a_certificate_for_another_name_is_refused() -> None:
    tls = authority().server_side("y.test")

    assert refused(tls).failure is Failure.TLS_NAME_MISMATCH


def test_a_certificate_in_order_is_believed_and_not_flagged() -> None:
    with site(always(page()), tls=authority().server_side("x.test")) as server:

        async def work(fetcher: CurlFetcher) -> Response:
            return await answered(fetcher, server.request(scheme="https"))

        assert not drive(work, ca_file=authority().ca_file).unverified


@pytest.mark.parametrize("drip", [b"", b"\x16\x03\x03\x3f\xff" + b"\x02" * 1000], ids=["TL-04", "TL-05"])
def test_tl_04_and_05_a_handshake_that_does_not_come_to_an_end_times_out(drip: bytes) -> None:
    async def script(talk: Talk) -> None:
        for byte in drip:
            await talk.say(bytes((byte,)))
            await asyncio.sleep(0.02)
        await talk.gone()

    assert refused(None, script, limits=hasty(tls=0.4)).failure is Failure.TLS_HANDSHAKE_TIMEOUT


def test_tl_06_an_outdated_protocol_is_refused() -> None:
    async def only_tls_1_0(talk: Talk) -> None:
        hello = await talk.reader.read(4096)
        assert b"\x03\x04" in hello or b"\x03\x03" in hello
        await talk.say(b"\x15\x03\x01\x00\x02\x02" + PROTOCOL_VERSION)
        await talk.gone()

    assert refused(None, only_tls_1_0).failure is Failure.TLS_PROTOCOL


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_tl_06_nothing_older_than_tls_1_2_is_spoken() -> None:
    old = authority().server_side("x.test")
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1

    assert refused(old).failure is Failure.TLS_PROTOCOL


def test_tl_07_a_server_that_does_not_know_the_name_is_a_protocol_failure() -> None:
    async def script(talk: Talk) -> None:
        await talk.reader.read(4096)
        await talk.say(ALERT + UNRECOGNIZED_NAME)
        await talk.gone()

    assert refused(None, script).failure is Failure.TLS_PROTOCOL


def test_the_name_of_the_host_is_sent_to_the_server() -> None:
    names: list[str | None] = []
    tls = authority().server_side("x.test")
    tls.sni_callback = lambda _socket, name, _context: names.append(name)
    with site(always(page()), tls=tls) as server:

        async def work(fetcher: CurlFetcher) -> Response:
            return await answered(fetcher, server.request(scheme="https"))

        drive(work, ca_file=authority().ca_file)

    assert names == ["x.test"]


@pytest.mark.service
@pytest.mark.parametrize("expired", [True, False], ids=["TL-01", "TL-02"])
def test_tl_01_and_02_what_nobody_vouched_for_is_flagged_wherever_it_is_recorded(tmp_path: Path, expired: bool) -> None:
    issuer = authority() if expired else stranger()
    tls = issuer.server_side("127.0.0.1", expired=expired)
    trust = f'ca_bundle = "{authority().ca_file}"\n'
    strict = SmallCrawl(tmp_path / "strict", f"{RETRY}[fetch]\n{trust}")
    lax = SmallCrawl(tmp_path / "lax", f"{RETRY}[fetch]\n{trust}verify = false\n")
    with site(always(page(), then_close=True), tls=tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        strict.run(url)
        lax.run(url)

    assert [(each["state"], each["unverified"]) for each in strict.pages()] == [("dead", False)]
    told = {str(each["url"]): each for each in lax.pages()}
    assert (told[url]["state"], told[url]["unverified"]) == ("stored", True)
    assert "unverified: the certificate of the server was not checked" in gossamer("explain", url, "--dir", lax.dir).out
    said = {fields["WARC-Target-URI"]: fields.get("WARC-TLS-Verified") for fields in archived(lax.dir, "response")}
    assert said.pop(url) == "no"
    assert {verified for target, verified in said.items() if NEIGHBOUR in target} == {None}  # not over TLS


@pytest.mark.service
def test_tl_07_a_host_that_does_so_from_the_first_request_on_is_asked_twice(tmp_path: Path) -> None:
    greeted: list[int] = []

    def never(_socket: object, _name: object, _context: object) -> int:
        greeted.append(1)
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    tls = authority().server_side("127.0.0.1")
    tls.sni_callback = never
    # A host is also given up for the longest delay: on a busy machine the next URL comes later than some seconds.
    patient = Constants({"gossamer.config.policies.MAX_RETRY_DELAY": 600.0})
    crawl = SmallCrawl(tmp_path, f'{RETRY}[fetch]\nca_bundle = "{authority().ca_file}"\n', patient)
    with site(always(page()), tls=tls) as server:
        crawl.run(*(f"https://127.0.0.1:{server.port}/{n}" for n in range(3)))

    assert [(each["state"], each["reason"]) for each in crawl.pages()] == [("dead", "tls_protocol")] * 3
    assert len(greeted) == 2
    assert server.heard == []


@pytest.mark.service
def test_tl_07_it_is_tried_twice_and_then_a_dead_letter(tmp_path: Path) -> None:
    greeted: list[int] = []

    def only_the_first(_socket: object, _name: object, _context: object) -> int | None:
        greeted.append(1)
        return None if len(greeted) == 1 else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    tls = authority().server_side("127.0.0.1")
    tls.sni_callback = only_the_first
    crawl = SmallCrawl(tmp_path, f'{RETRY}[fetch]\nca_bundle = "{authority().ca_file}"\n')
    rules = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with site(always(rules, then_close=True), tls=tls) as server:
        crawl.run(f"https://127.0.0.1:{server.port}/")

    assert [(each["state"], each["reason"]) for each in crawl.pages()] == [("dead", "tls_protocol")]
    assert len(greeted) == 1 + 2
    assert len(server.heard) == 1
