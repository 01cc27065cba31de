"""TLS: who is believed, and how long a handshake may take. The certificates are for these tests only."""

import asyncio
import ssl
from pathlib import Path

import pytest

from gossamer.model.outcome import Failed, Failure, Response
from tests.fetch.http.scripted_server import PAGE, Talk, always, answered, failed, fetching, hasty, run, serving

CERTIFICATES = Path(__file__).parent / "certificates"
VALID = str(CERTIFICATES / "valid.pem")
EXPIRED = str(CERTIFICATES / "expired.pem")


def server_side(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, str(CERTIFICATES / "key.pem"))
    return context


def refused(certificate: str, *, host: str = "x.test", ca_file: str | None = VALID) -> Failed:
    async def main() -> Failed:
        tls = server_side(certificate)
        async with serving(always(PAGE), tls=tls) as server, fetching(ca_file=ca_file) as fetcher:
            return await failed(fetcher, server.request(scheme="https", host=host))

    return run(main())


def test_a_trusted_host_is_fetched_and_its_connection_kept() -> None:
    async def main() -> tuple[Response, Response, int]:
        async with serving(always(PAGE), tls=server_side(VALID)) as server, fetching(ca_file=VALID) as fetcher:
            first = await answered(fetcher, server.request(scheme="https"))
            await asyncio.sleep(0.1)
            second = await answered(fetcher, server.request(scheme="https"))
            return first, second, server.connections

    first, second, connections = run(main())

    assert first.wire_body == second.wire_body == b"hello"
    assert first.head + first.wire_body == PAGE
    assert connections == 1
    assert not second.new_connection


@pytest.mark.parametrize(
    ("certificate", "host", "ca_file", "expected"),
    [
        (EXPIRED, "x.test", EXPIRED, Failure.TLS_EXPIRED),
        (VALID, "x.test", None, Failure.TLS_UNTRUSTED),
        (VALID, "y.test", VALID, Failure.TLS_NAME_MISMATCH),
    ],
)
def test_each_reason_for_disbelief_has_its_name(
    certificate: str, host: str, ca_file: str | None, expected: Failure
) -> None:
    outcome = refused(certificate, host=host, ca_file=ca_file)

    assert outcome.failure is expected
    assert outcome.contacted


def test_an_outdated_protocol_is_refused() -> None:
    async def plain_alert(talk: Talk) -> None:
        await talk.reader.read(1)
        await talk.say(b"\x15\x03\x01\x00\x02\x02\x46")  # fatal alert: protocol_version
        await talk.gone()

    async def main() -> Failed:
        async with serving(plain_alert) as server, fetching() as fetcher:
            return await failed(fetcher, server.request(scheme="https"))

    assert run(main()).failure is Failure.TLS_PROTOCOL


@pytest.mark.parametrize("drip", [b"", b"\x16\x03\x03\x3f\xff" + b"\x02" * 1000])
def test_a_handshake_that_does_not_come_to_an_end_times_out(drip: bytes) -> None:
    async def script(talk: Talk) -> None:
        for byte in drip:  # a record that would be 16 KB long, a byte at a time
            await talk.say(bytes((byte,)))
            await asyncio.sleep(0.02)
        await talk.gone()

    async def main() -> Failed:
        async with serving(script) as server, fetching(hasty(tls=0.4)) as fetcher:
            return await failed(fetcher, server.request(scheme="https"))

    outcome = run(main())

    assert outcome.failure is Failure.TLS_HANDSHAKE_TIMEOUT
    assert outcome.contacted


def test_plain_http_on_a_tls_port_is_a_protocol_failure() -> None:
    async def script(talk: Talk) -> None:
        await talk.reader.read(1)
        await talk.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await talk.gone()

    async def main() -> Failed:
        async with serving(script) as server, fetching() as fetcher:
            return await failed(fetcher, server.request(scheme="https"))

    assert run(main()).failure is Failure.TLS_PROTOCOL
