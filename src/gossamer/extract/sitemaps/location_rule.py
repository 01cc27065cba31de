"""Which URLs a sitemap may speak for (sitemaps.org, "Sitemap file location" and "Cross submits").

A sitemap speaks for the URLs of its own scheme, host and port in and below its own directory. One that the robots.txt
of a host names, or that an index names which that robots.txt names, speaks for everything of that host: whoever
writes a site's robots.txt may speak for the site.
"""

from collections.abc import Collection
from enum import Enum

from gossamer.model.units import HostKey, Url


class Standing(Enum):
    """What a sitemap's word on a URL is worth."""

    ENTITLED = "entitled"  # by the rule
    OWN_HOST = "own host"  # the same host, but not by the rule: another scheme, port or directory
    STRANGER = "stranger"  # another host, which has not asked it to


def may_list(sitemap: Url, url: Url) -> bool:
    """The rule itself: whether the URL lies below the sitemap's directory. Both in canonical form."""
    path = sitemap.partition("?")[0]
    return url.startswith(path[: path.rindex("/") + 1])


def standing_of(
    sitemap: Url, sitemap_host: HostKey, url: Url, host: HostKey, named_by: Collection[HostKey]
) -> Standing:
    """What a sitemap's word on a URL is worth; `named_by` are the hosts whose robots.txt led to it."""
    if host in named_by or may_list(sitemap, url):
        return Standing.ENTITLED
    return Standing.OWN_HOST if host == sitemap_host else Standing.STRANGER
