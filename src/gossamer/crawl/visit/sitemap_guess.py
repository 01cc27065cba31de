"""The guess that a host has a sitemap at `/sitemap.xml`, made where its robots.txt names none.

A guess is a contact like that for robots.txt: it keeps the gaps and obeys robots.txt, the URL of the visit returns to
its queue, and neither limits nor errors are counted. Only the beginning of the response is read. If it is that of a
sitemap, its URL enters the crawl and is visited like every sitemap; otherwise the guess leaves no URL behind, only its
outcome, with the robots.txt of the origin.
"""

from collections.abc import Callable
from typing import Final

from gossamer.crawl.document.admission import Admission
from gossamer.crawl.visit.host_context import GUESS_AGAIN, Guess, HostContext
from gossamer.crawl.visit.request import Requester, Route
from gossamer.crawl.visit.settle import CrawlState
from gossamer.extract.sitemaps import begins_as_sitemap
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.headers import location_of, requested_wait
from gossamer.fetch.robots import MAX_REDIRECTS, RobotsAnswer, path_of
from gossamer.filter.canonical import Canonical
from gossamer.frontier.retries import StatusClass, status_class
from gossamer.model.batch import SitemapGuess
from gossamer.model.outcome import Failed, FetchOutcome, Response
from gossamer.model.task import Visit
from gossamer.model.units import Instant, Origin, Seconds, Url

WELL_KNOWN: Final = "/sitemap.xml"
_READ_BYTES: Final = 16_384  # on the wire, and without codings


class SitemapGuesser:
    """Requests `/sitemap.xml` from hosts whose robots.txt names no sitemap."""

    def __init__(
        self,
        state: CrawlState,
        requester: Requester,
        admission: Admission,
        *,
        enabled: bool,
        on_found: Callable[[Visit, Canonical], None],
    ) -> None:
        """`on_found` is called with the URL of a sitemap that was found, and the visit at which it was."""
        self._store = state.store
        self._clock = state.clock
        self._requester = requester
        self._admission = admission
        self._enabled = enabled
        self._on_found = on_found

    def due(
        self, visit: Visit, context: HostContext, origin: Origin, answer: RobotsAnswer, now: Instant
    ) -> Guess | None:
        """The guess to be made before the page of the visit is requested; None if there is none to be made."""
        if not self._enabled or (answer.rules is not None and answer.rules.sitemaps):
            return None
        guess = context.guesses.get(origin)
        if guess is not None and now < guess.not_before:
            return None
        depth = self._admission.file_rules.max_depth
        if depth is not None and visit.task.depth >= depth:  # nothing that the sitemap lists could enter
            return None
        if guess is None or guess.url is None:
            guess = Guess(Url(origin + WELL_KNOWN))
        if self._may_request(visit, answer, guess):
            return guess
        context.guesses[origin] = Guess(None, Instant(now + GUESS_AGAIN))  # for as long as the host has a back queue
        return None

    def _may_request(self, visit: Visit, answer: RobotsAnswer, guess: Guess) -> bool:
        """Whether the rules and robots.txt permit a guess, and the visit is not to that URL itself."""
        task, url = visit.task, guess.url
        return (
            url is not None
            and url != task.url
            and url.startswith("http")
            and answer.verdict(path_of(url)).allowed
            and self._admission.file_rules.may_enter(url, visit.host, task.depth) is None
        )

    async def request(
        self,
        visit: Visit,
        context: HostContext,
        origin: Origin,
        guess: Guess,
        route: Route,
        crawl_delay: Seconds | None,
    ) -> None:
        """Make a guess; the URL of the visit is back in its queue afterwards."""
        assert guess.url is not None
        outcome = await self._requester.send_robots_request(
            visit.host_id, visit.host, visit.last_took, route, guess.url, origin, _READ_BYTES
        )
        now = self._clock.now()
        if self._requester.try_other_address(visit.host, route, outcome, now):
            self._requester.finish_unreached(visit, route, now)
            return
        self._conclude(visit, context, origin, guess, outcome, now)
        wait = requested_wait(outcome, now)
        self._requester.finish(visit, context, route, outcome, now, crawl_delay, wait, again=True)

    def _conclude(
        self, visit: Visit, context: HostContext, origin: Origin, guess: Guess, outcome: FetchOutcome, now: Instant
    ) -> None:
        """Keep what the response means."""
        assert guess.url is not None
        meaning: str
        if isinstance(outcome, Failed):
            meaning = outcome.failure.value
        elif status_class(outcome.status) is StatusClass.REDIRECT:
            target = self._admission.canonical(location_of(outcome.headers) or "", guess.url)
            # Only within the origin: other origins, to which many sites redirect everything, have guesses of their own.
            if isinstance(target, Canonical) and target.origin == origin and guess.redirects < MAX_REDIRECTS:
                following = Guess(target.url, redirects=guess.redirects + 1)
                if following.url != guess.url and self._may_request(visit, context.robots[origin], following):
                    context.guesses[origin] = following
                    return
            meaning = f"{outcome.status}, a redirect that is not followed"
        elif status_class(outcome.status) is not StatusClass.DOCUMENT:
            meaning = str(outcome.status)
        elif not _is_sitemap(outcome):
            meaning = f"{outcome.status}, but not a sitemap"
        else:
            meaning = f"a sitemap at {guess.url}"
            found = self._admission.canonical(guess.url, guess.url)
            assert isinstance(found, Canonical)
            self._on_found(visit, found)
        context.guesses[origin] = Guess(None, Instant(now + GUESS_AGAIN))
        self._store.batch.sitemap_guesses.append(SitemapGuess(now, meaning, origin))


def _is_sitemap(response: Response) -> bool:
    return begins_as_sitemap(payload(response, _READ_BYTES).body, response.headers.get("content-type"))
