"""Types for units and identifiers, so that types cannot be confused."""

from typing import Final, NewType

Instant = NewType("Instant", float)
"""A point of wall-clock time: seconds since the epoch, UTC."""

Seconds = NewType("Seconds", float)
"""A duration."""

DAY: Final = 86_400.0
"""Seconds."""

Url = NewType("Url", str)
"""An absolute http(s) URL in canonical form, without fragment and userinfo."""

HostKey = NewType("HostKey", str)
"""The politeness unit: a host name in A-label form, lower case, no trailing dot, no port;
an IP literal as written in a URL (`127.0.0.1`, `[::1]`)."""

Origin = NewType("Origin", str)
"""`scheme://host[:port]`, the unit of robots.txt. The port is absent when it is the scheme's default."""

Domain = NewType("Domain", str)
"""A registrable domain (public suffix plus one label), or the host itself where there is none."""

HostId = NewType("HostId", int)
"""A host's row in the store."""

Fingerprint = NewType("Fingerprint", int)
"""64 bits, signed, of a URL's identity. Unique within a host; see `seen`."""

Epoch = NewType("Epoch", int)
"""One life of a worker, from joining a crawl to leaving it or its death: 63 random bits."""
