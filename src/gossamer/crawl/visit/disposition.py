"""What a response that is not a document, or a failure, means for its URL: retry, missing, gone, excluded or dead.
Pure."""

import random
from enum import Enum

from gossamer.dedup import SOFT_404, Soft404Detector
from gossamer.frontier.retries import RetryPolicy, StatusClass, after_bad_status, after_failure, back_off, status_class
from gossamer.model.outcome import Failed, Response
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Task
from gossamer.model.units import HostId, Instant, Seconds

MAX_RATE_LIMITED = 10
"""Responses 429 in a row after which the URLs of a host become dead letters."""


class FailureScope(Enum):
    """What a failure means for its URL, unless it waits for its host."""

    OWN = "its own attempts decide"
    GIVEN_UP = "it is dead, with its host"


class Disposition:
    """Turns outcomes into settlements by the retry rules."""

    def __init__(self, policy: RetryPolicy, chance: random.Random, soft: Soft404Detector | None = None) -> None:
        self._policy = policy
        self._chance = chance
        self._soft = soft or Soft404Detector()

    def on_failure(
        self,
        host_id: HostId,
        task: Task,
        failed: Failed,
        now: Instant,
        host_verdict: FailureScope | Instant = FailureScope.OWN,
    ) -> Settlement:
        """No usable response: another attempt later, or a dead letter. If `host_verdict` is a time, the URL waits until
        then and loses no attempt, because its host fails."""
        tries, wait = self._another_try(task, now, host_verdict)
        if host_verdict is FailureScope.OWN:
            wait = after_failure(self._policy, failed.failure, tries, self._chance)
        return self._again_or_dead(
            host_id, task, tries, wait, failed.failure.value, failed.detail, now, took=failed.took
        )

    def _another_try(
        self, task: Task, now: Instant, host_verdict: FailureScope | Instant
    ) -> tuple[int, Seconds | None]:
        if isinstance(host_verdict, FailureScope):
            return task.tries + 1, None
        return task.tries, Seconds(max(0.0, host_verdict - now))

    def on_bad_status(
        self,
        host_id: HostId,
        task: Task,
        response: Response,
        retry_after: Seconds | None,
        in_row: int,
        now: Instant,
        host_verdict: FailureScope | Instant = FailureScope.OWN,
    ) -> Settlement:
        """A response that is neither a document nor a redirect. `host_verdict` as in `on_failure`."""
        kind = status_class(response.status)
        if kind is StatusClass.RATE_LIMITED:
            # The URL is not to blame, so this costs no attempt; but a host that always answers 429 is given up.
            wait = retry_after or back_off(self._policy, self._policy.status_base, min(in_row, 8), self._chance)
            return self._again_or_dead(
                host_id,
                task,
                task.tries,
                wait if in_row < MAX_RATE_LIMITED else None,
                "rate_limited",
                None,
                now,
                response,
            )
        if kind in (StatusClass.MISSING, StatusClass.GONE):
            tries = task.tries + 1
            if kind is StatusClass.GONE or tries >= self._policy.missing_tries:
                return self._answered(host_id, task, UrlState.GONE, response, now, tries)
            again = Instant(now + self._policy.missing_delay)
            return self._answered(host_id, task, UrlState.MISSING, response, now, tries, again)
        tries, delay = self._another_try(task, now, host_verdict)
        if host_verdict is FailureScope.OWN:
            delay = after_bad_status(self._policy, tries, self._chance)
        if delay is not None and retry_after is not None:
            delay = Seconds(max(delay, retry_after))
        return self._again_or_dead(host_id, task, tries, delay, "server_error", None, now, response)

    def exclude(self, host_id: HostId, task: Task, reason: str, now: Instant, detail: str | None = None) -> Settlement:
        """A rule excludes the URL."""
        return Settlement(
            host_id, task.url_id, task.front, UrlState.EXCLUDED, now, task.tries, reason=reason, detail=detail
        )

    def give_up(
        self,
        host_id: HostId,
        task: Task,
        reason: str,
        now: Instant,
        response: Response | None = None,
        redirect_to: str | None = None,
    ) -> Settlement:
        """Another attempt would be useless."""
        return Settlement(
            host_id,
            task.url_id,
            task.front,
            UrlState.DEAD,
            now,
            task.tries + 1,
            reason=reason,
            status=response.status if response else None,
            took=response.took if response else None,
            redirect_to=redirect_to,
            unverified=response is not None and response.unverified,
        )

    def on_redirect(
        self, host_id: HostId, task: Task, response: Response, target: str, now: Instant, reason: str | None = None
    ) -> Settlement:
        """A redirect. `reason`: why it is not followed, or that it is a soft 404."""
        if reason is None and self._soft.leads_home(host_id, task.url, target):
            reason = SOFT_404
        return Settlement(
            host_id,
            task.url_id,
            task.front,
            UrlState.REDIRECT,
            now,
            status=response.status,
            took=response.took,
            size=0,
            redirect_to=target,
            reason=reason,
            unverified=response.unverified,
        )

    def _answered(
        self,
        host_id: HostId,
        task: Task,
        state: UrlState,
        response: Response,
        now: Instant,
        tries: int,
        again: Instant | None = None,
    ) -> Settlement:
        return Settlement(
            host_id, task.url_id, task.front, state, now, tries, again, status=response.status, took=response.took,
            size=len(response.wire_body), mime=response.headers.get("content-type"), unverified=response.unverified,
        )  # fmt: skip

    def _again_or_dead(
        self,
        host_id: HostId,
        task: Task,
        tries: int,
        wait: Seconds | None,
        reason: str,
        detail: str | None,
        now: Instant,
        response: Response | None = None,
        took: float | None = None,
    ) -> Settlement:
        return Settlement(
            host_id,
            task.url_id,
            task.front,
            UrlState.DEAD if wait is None else UrlState.QUEUED,
            now,
            tries,
            None if wait is None else Instant(now + wait),
            reason,
            detail,
            response.status if response else None,
            took=response.took if response else took,
            unverified=response is not None and response.unverified,
        )
