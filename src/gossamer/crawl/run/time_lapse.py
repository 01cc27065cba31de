"""Time-lapse: months of visits within minutes, against servers on this machine (option `rehearse`).

The crawl directory has a clock that runs ahead, and is permanently in time-lapse. Since the gaps are short in real
time, only loopback addresses are dialled, and no proxy is used.
"""

import ipaddress
from collections.abc import Callable

from gossamer.clock import CLOCK_FILE, Clock, FastClock, SharedClock, SteadyClock
from gossamer.config.load import Config
from gossamer.config.sections import FetchSection, HostSection
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.errors import ConfigError, DirectoryError

_KEY = "rehearse"


def clock_for(directory: CrawlDirectory, config: Config, *, is_new: bool) -> Clock:
    """The clock of a crawl, which may be a new one. Raises ConfigError if time-lapse is not possible, DirectoryError if
    its file cannot be written."""
    file = directory.path / CLOCK_FILE
    speed = config.rehearse
    if speed is None and not file.exists():
        return SteadyClock()
    if not file.exists() and not is_new:
        raise ConfigError(_KEY, f"the crawl in {directory.path} is not a time-lapse crawl; choose another --dir")
    sections: list[FetchSection | HostSection] = [config.fetch, *config.host.values()]
    if any(section.proxy or section.proxy_env for section in sections):
        raise ConfigError(_KEY, "a time-lapse crawl cannot use a proxy: it is for servers on this machine")
    try:
        return SharedClock(file) if speed is None else FastClock(file, speed)
    except OSError as error:
        raise DirectoryError(f"cannot use {file}: {error.strerror}") from error


def may_dial_for(clock: Clock, may_dial: Callable[[str], bool]) -> Callable[[str], bool]:
    """The check of addresses for a crawl with this clock: in time-lapse only loopback passes."""
    if not isinstance(clock, SharedClock):
        return may_dial
    return lambda address: may_dial(address) and ipaddress.ip_address(address).is_loopback
