"""Which fetcher a request goes to."""

import asyncio

import pytest

from gossamer.fetch.ports import Request, SchemeFetcher
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import HostKey, Seconds, Url


class Noting:
    """A fetcher that notes what it is asked for."""

    def __init__(self, *, broken: bool = False) -> None:
        self.asked: list[str] = []
        self.closed = 0
        self._broken = broken

    async def fetch(self, request: Request) -> FetchOutcome:
        self.asked.append(request.url)
        return Failed(Failure.CONN_REFUSED, "", Seconds(0.0), contacted=True)

    async def close(self) -> None:
        self.closed += 1
        if self._broken:
            raise OSError("cannot close")


def ask(fetcher: SchemeFetcher, url: str) -> FetchOutcome:
    return asyncio.run(fetcher.fetch(Request(Url(url), HostKey("x.test"), 80, "127.0.0.1")))


def test_a_request_goes_to_the_fetcher_of_its_scheme() -> None:
    web, ftp = Noting(), Noting()
    fetcher = SchemeFetcher({"http": web, "https": web, "ftp": ftp})

    for url in ("http://x.test/", "ftp://x.test/", "https://x.test/"):
        ask(fetcher, url)

    assert web.asked == ["http://x.test/", "https://x.test/"]
    assert ftp.asked == ["ftp://x.test/"]


@pytest.mark.parametrize(
    "url",
    ["ftp://x.test/", "file:///etc/passwd", "gopher://x.test/", "HTTP://x.test/", "//x.test/", "x.test", "", "data:,x"],
)
def test_a_scheme_that_nobody_registered_is_never_opened(url: str) -> None:
    web = Noting()

    outcome = ask(SchemeFetcher({"http": web, "https": web}), url)

    assert isinstance(outcome, Failed)
    assert (outcome.failure, outcome.contacted) == (Failure.BAD_SCHEME, False)
    assert web.asked == []


def test_every_fetcher_is_closed_once_even_if_another_cannot_be() -> None:
    web, ftp = Noting(broken=True), Noting()

    with pytest.raises(ExceptionGroup, match="could not be closed"):
        asyncio.run(SchemeFetcher({"http": web, "https": web, "ftp": ftp}).close())

    assert (web.closed, ftp.closed) == (1, 1)


@pytest.mark.parametrize("scheme", ["HTTP", "http:", "", "ht tp"])
def test_what_is_no_scheme_cannot_be_registered(scheme: str) -> None:
    with pytest.raises(ValueError, match="not a scheme"):
        SchemeFetcher({scheme: Noting()})


def test_the_schemes_that_can_be_fetched_are_told() -> None:
    assert SchemeFetcher({"http": Noting()}).schemes == {"http"}
