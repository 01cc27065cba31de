"""Internal errors are exceptions; remote errors are return values (`model.outcome.Failure`).

GossamerError
├── UsageError       the command or configuration is wrong: exit 2, say which value
│   ├── ConfigError      a key, value or pair of keys in gossamer.toml or an option
│   ├── BadSeed          a seed that is not a crawlable URL
│   ├── SelectorError    a CSS selector or an XPath expression that cannot be used
│   └── MissingExtra     an optional package is not installed: exit 2, say how to install it
├── DirectoryError   the crawl directory cannot be used: exit 1, nothing was touched
│   ├── DirectoryInUse   another process has it open
│   └── NotThisCrawl     it contains another crawl, or none
│       └── OldSchema        its database has an older schema
├── StoreFailed      the store could not be read or written
│   ├── DiskFull         no space left: free some and run the same command again
│   ├── SpoolFull        object storage is away, and the spool for it is full
│   ├── ConnectionLost   its server cannot be reached: what failed may be repeated
│   └── ServerHangs      its server does not answer, and the user has asked not to wait
├── WorkerEnded      this life of a worker is over: drop what is not committed and join again
│   ├── LeaseLost        it was declared dead
│   ├── HistoryLost      the store has lost commits that it had acknowledged
│   └── NameInUse        another living worker has its name
├── ArchiveError     a capture cannot be read back
│   ├── ArchiveAway      its archive cannot be reached: nothing is known about the capture
│   └── DamagedRecord    no whole record where one should be
├── SearchFailed     a search engine gave no seeds: exit 1, the message says why
└── CannotListen     a local server cannot bind to the address
"""

import errno
import warnings


class GossamerError(Exception):
    """Root of everything we raise on purpose."""


class GossamerWarning(UserWarning):
    """Something gives less than was expected: a crawl without new pages, a record that cannot be read."""

    @classmethod
    def issue(cls, text: str) -> None:
        """Warn each time, also with a text that was shown before: a cell of a notebook is run more than once."""
        warnings.warn_explicit(cls(text), cls, "gossamer", 1)


class UsageError(GossamerError):
    """The command or configuration is wrong; the message names the offending value."""


class ConfigError(UsageError):
    """An unknown configuration key or an invalid value. Carries the key and what is wrong with it."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key, self.problem = key, problem


class BadSeed(UsageError):
    """A seed cannot be crawled. Carries the text as given; `meaning` explains the reason, `where` is its position."""

    def __init__(self, text: str, reason: str, meaning: str, where: str = "") -> None:
        shown = text if len(text) <= 200 else text[:200] + "…"
        super().__init__(f"bad seed {shown!r}{f' ({where})' if where else ''}: {meaning} ({reason})")
        self.text, self.reason = text, reason


class SelectorError(UsageError):
    """A CSS selector or an XPath expression cannot be used. Carries its text."""

    def __init__(self, what: str, text: str, problem: str) -> None:
        super().__init__(f"bad {what} {text!r}: {problem}")
        self.text = text


class MissingExtra(UsageError):
    """What was asked for needs a package that is not part of the core."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}: pip install 'gossamer[{extra}]'")
        self.extra = extra


class DirectoryError(GossamerError):
    """The crawl directory cannot be used as it is."""


class DirectoryInUse(DirectoryError):
    """Another process holds the directory's lock; wait for it or choose another directory."""


class NotThisCrawl(DirectoryError):
    """The directory contains another crawl, or is not a crawl directory."""


class OldSchema(NotThisCrawl):
    """The database has an older schema: open it for writing once to migrate it."""


class StoreFailed(GossamerError):
    """The store could not be read or written. A batch that failed is rolled back and may be committed again."""


class DiskFull(StoreFailed):
    """No space left for a file, which the message names."""


class SpoolFull(StoreFailed):
    """Object storage cannot be reached, and there is no room left for what waits for it."""


class ConnectionLost(StoreFailed):
    """The server of the store cannot be reached, or the connection to it was lost. What failed may be repeated."""


class ServerHangs(StoreFailed):
    """The server of the store does not answer, and the operator has asked not to wait for it."""


class WorkerEnded(GossamerError):
    """This life of a worker is over. What it has not committed must be dropped, not retried; it may join again."""


class LeaseLost(WorkerEnded):
    """This worker was declared dead, because it was silent for too long."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"this worker (epoch {epoch}) was declared dead by another one; it has to join again")
        self.epoch = epoch


class HistoryLost(WorkerEnded):
    """The store has lost commits that it had acknowledged. All workers have to start again with empty memories."""

    def __init__(self, epoch: int, commits: int | None = None, known: int | None = None) -> None:
        """`commits` of the worker, and how many the store knows of; None: it does not know the worker."""
        found = "has lost commits of" if known is None else f"knows of {known} commits by"
        made = "" if commits is None else f", which has made {commits} commits"
        super().__init__(
            f"the store {found} this worker (epoch {epoch}){made}: it was restored from a copy, or a standby took over "
            "that was behind; use a synchronous standby"
        )
        self.epoch = epoch


class NameInUse(WorkerEnded):
    """Another living worker has this name."""

    def __init__(self, name: str, holder: str | None = None, store: str = "this store") -> None:
        """`holder`: that worker, with its process and machine."""
        self.name, self.holder = name, holder or name
        super().__init__(
            f"worker name {name!r} is in use: {self.holder} takes part in the crawl in {store} and sends heartbeats; "
            f"choose another name with --name, or stop that worker"
        )


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the file system says then."""


class ArchiveError(GossamerError):
    """A capture cannot be read from the archive."""


class ArchiveAway(ArchiveError):
    """The archive cannot be reached, so nothing is known about its captures."""


class DamagedRecord(ArchiveError):
    """There is no whole record at this location. Carries the name of the file and the offset."""

    def __init__(self, file: str, offset: int, problem: str) -> None:
        super().__init__(f"{file} at byte {offset}: {problem}")
        self.file, self.offset = file, offset


class SearchFailed(GossamerError):
    """A search engine gave no seeds. `why`: `no results`, `blocked`, `changed`, `denied` or `unreachable`."""

    def __init__(self, provider: str, query: str, why: str, problem: str) -> None:
        super().__init__(f"no seeds from {provider} for {query!r}: {problem}")
        self.provider, self.query, self.why = provider, query, why


class CannotListen(GossamerError):
    """A local server cannot bind to the address."""
