"""A fetched document on its way from the fetch to its settlement."""

from collections import Counter
from typing import NamedTuple

from gossamer.model.outcome import Response
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import NEAR_DUPLICATE, UrlState
from gossamer.model.task import Candidate, PreviousVisit, Visit
from gossamer.model.units import Instant

_DUPLICATE = UrlState.DUPLICATE  # looking up an enum member costs as much as a call


class Document(NamedTuple):
    """A response that contains a document, waiting to be processed."""

    visit: Visit
    response: Response
    finished: Instant
    remark: str | None = None  # the reason, if the document is incomplete


class ProcessedDocument(NamedTuple):
    """The result of processing a document."""

    settlement: Settlement
    candidates: list[Candidate]
    links: PageLinks | None
    excluded: Counter[str]
    previous: PreviousVisit | None = None  # None: first visit

    def counters(self) -> list[tuple[str, int]]:
        """Counter increments for this document."""
        counters = [("excluded:" + reason, n) for reason, n in self.excluded.items()]
        settlement = self.settlement
        if settlement.kept:
            return [("unchanged", 1)]
        if settlement.noise:
            counters.append(("unchanged", 1))
        elif self.previous is not None and self.previous.has_document:
            counters.append(("changed", 1))
        if settlement.near_duplicate_of is not None:
            counters.append(("near_duplicates", 1))
        elif settlement.state is _DUPLICATE:
            counters.append(("duplicates", 1))
        reason = settlement.reason
        if reason is not None and reason != NEAR_DUPLICATE and settlement.state is not UrlState.EXCLUDED:
            counters.append(("error:" + reason, 1))
        return counters
