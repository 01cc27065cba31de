"""May a host's dates be believed? Counted for each host, from visits that showed what was true.

Last-Modified is of use where it tells when the content changed. It does not where it is the time of the answer, or
moves while the content stays. A sitemap's or feed's report of a change is of use where a visit confirms it; the time at
which a sitemap was generated reports every page and confirms little (SCIENCE, 4.1 and 4.5).
"""

from typing import Final, NamedTuple

from gossamer.model.units import Instant, Seconds

MIN_AGE: Final = Seconds(60.0)
"""A page that was modified less than this before it was served was made for us."""

ENOUGH: Final = 10
"""Visits that must have been judged before a host is believed."""

MIN_TRUTH: Final = 0.9  # of the Last-Modified times that could be judged
MIN_CONFIRMED: Final = 0.5  # of the reports: below, they are ignored
MAX_RECALL: Final = 0.95  # nobody reports everything for ever
MANY: Final = 400
"""Visits after which what was judged counts half: a host that begins to lie is found out in weeks, not in years."""


class HostTrust(NamedTuple):
    """What one host has said and what was found. A value: it lives in the host's row."""

    honest: int = 0  # Last-Modified stayed while the content did, or moved when it changed
    lying: int = 0
    reports: int = 0  # reports of changes that a visit has looked into
    confirmed: int = 0  # of which the page had changed indeed
    changes: int = 0  # changes found on pages that a sitemap or feed lists
    foretold: int = 0  # of which were reported before the visit

    @property
    def believes_modified(self) -> bool:
        """Last-Modified tells when a page of this host changed."""
        judged = self.honest + self.lying
        return judged >= ENOUGH and self.honest >= MIN_TRUTH * judged

    @property
    def recall(self) -> float:
        """Which share of all changes is reported. 0 where reports are not believed: they are if enough of them were
        looked into, and a report means that the page changed, more often than not."""
        _, _, reports, confirmed, changes, foretold = self
        if reports < ENOUGH or confirmed < MIN_CONFIRMED * reports or changes < ENOUGH:
            return 0.0
        share = foretold / changes
        return share if share < MAX_RECALL else MAX_RECALL

    def judged_modified(
        self, *, before: Instant | None, after: Instant | None, served: Instant, changed: bool
    ) -> "HostTrust":
        """A second visit saw Last-Modified `after` where the first saw `before`; `served` is the answer's Date."""
        if before is None or after is None:
            return self
        honest, lying, reports, confirmed, changes, foretold = self
        if usable_modified(after, served) is not None and (after > before) == changed:
            honest += 1
        else:
            lying += 1
        if honest + lying > MANY:
            honest, lying = honest // 2, lying // 2
        return HostTrust(honest, lying, reports, confirmed, changes, foretold)

    def moved_in_vain(self) -> "HostTrust":
        """The server says that nothing has changed, and yet its Last-Modified is another."""
        return self._replace(lying=self.lying + 1)

    def judged_report(self, *, reported: bool, listed: bool, changed: bool) -> "HostTrust":
        """A visit found the page changed or not, which had been `reported` since the last one or not.

        `listed`: a sitemap or feed knows the page, so that it could have reported it.
        """
        if not listed:
            return self
        if not reported and not changed:
            return self  # which is most visits
        honest, lying, reports, confirmed, changes, foretold = self
        if reported:
            reports, confirmed, foretold = reports + 1, confirmed + changed, foretold + changed
        changes += changed
        if reports > MANY:
            reports, confirmed = reports // 2, confirmed // 2
        if changes > MANY:
            changes, foretold = changes // 2, foretold // 2
        return HostTrust(honest, lying, reports, confirmed, changes, foretold)


def usable_modified(modified: Instant | None, served: Instant) -> Instant | None:
    """The time of the last change, if Last-Modified can be one: older than the answer by more than a minute."""
    return modified if modified is not None and modified + MIN_AGE < served else None


def reported_change(lastmod: Instant | None, last_visit: Instant) -> bool:
    """A sitemap or feed says that the page changed after we saw it."""
    return lastmod is not None and lastmod > last_visit
