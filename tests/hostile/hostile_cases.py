"""The hostile cases by their ids: what the other side does, and where our result is not the expected one.

Held here as data, in our own words. hostile_table.py makes docs/HOSTILE.md of it and of the names of the tests;
test_hostile_table.py holds that every case has a test.
"""

from typing import NamedTuple


class Group(NamedTuple):
    title: str
    cases: dict[str, str]
    """Id -> what the other side does."""


GROUPS: tuple[Group, ...] = (
    Group(
        "HTTP framing",
        {
            "HF-01": "a status line that is none",
            "HF-02": "a status line without a reason phrase",
            "HF-03": "a header line without a colon",
            "HF-04": "header names in curly quotes, or with a space before the colon",
            "HF-05": "lines that end in a bare LF, and folded lines",
            "HF-06": "the same Content-Length twice",
            "HF-07": "two different Content-Lengths",
            "HF-08": "a length and chunks, then stray bytes",
            "HF-09": "a body that breaks off before its length",
            "HF-10": "more bytes than the length says",
            "HF-11": "a huge length, a little data, silence",
            "HF-12": "chunk sizes that are none",
            "HF-13": "chunks that break off, in one or between two",
            "HF-14": "an endless chunk extension; endless trailers",
            "HF-15": "a hundred thousand header lines; one of 10 MiB",
            "HF-16": "a head that drips",
            "HF-17": "informational answers before the real one",
            "HF-18": "204 and 304 with a body",
            "HF-19": "no status line at all",
            "HF-20": "a connection that ends before any byte, new or reused",
            "HF-21": "cookies by the hundred",
            "HF-22": "HTTP/1.0 without a length",
            "HF-23": "an empty body",
        },
    ),
    Group(
        "Bodies",
        {
            "BD-01": "a gzip bomb",
            "BD-02": "a brotli bomb in one block",
            "BD-03": "more than three codings on top of each other",
            "BD-04": "a packed body that is cut, with a length that fits",
            "BD-05": "a coding that is not the one declared",
            "BD-06": "a coding that nobody knows",
            "BD-07": "chunks without end, at full speed",
            "BD-08": "a body that drips",
            "BD-09": "bytes that are not in the charset they claim",
            "BD-10": "no charset anywhere",
            "BD-11": "charset labels made to confuse",
            "BD-12": "NULs in the markup",
            "BD-13": "UTF-16, with and without a mark",
            "BD-14": "noise, or a picture, called HTML",
            "BD-15": "a start tag of 5 MB",
            "BD-16": "comments and CDATA opened thousands of times",
            "BD-17": "elements nested a hundred thousand deep",
            "BD-18": "four hundred thousand links",
            "BD-19": "HTML under other types or none",
            "BD-20": "a data: URI of 8 MiB",
        },
    ),
    Group(
        "Redirects",
        {
            "RD-01": "to itself",
            "RD-02": "in a ring over two hosts",
            "RD-03": "ten hops, and eleven",
            "RD-04": "without end",
            "RD-05": "to a file",
            "RD-06": "to other schemes",
            "RD-07": "to addresses out of bounds",
            "RD-08": "to a URL with credentials in it",
            "RD-09": "Location in all its relative forms",
            "RD-10": "Location in raw bytes, with spaces and quotes",
            "RD-11": "without a Location",
            "RD-12": "refreshes in the page",
            "RD-13": "to international names, good and bad",
            "RD-14": "to what robots.txt denies",
            "RD-15": "out of the scope",
            "RD-16": "by a hundred hosts to one victim",
        },
    ),
    Group(
        "robots.txt",
        {
            "RB-01": "500, or 503 with a page",
            "RB-02": "404, 410, 401, 403",
            "RB-03": "429 with Retry-After",
            "RB-04": "behind five redirects, and behind six",
            "RB-05": "the home page instead",
            "RB-06": "out of reach: connection, reset, name",
            "RB-07": "600 KB of rules",
            "RB-08": "rules without end",
            "RB-09": "a byte order mark first",
            "RB-10": "UTF-16, or stray Latin-1 bytes",
            "RB-11": "CR line ends, NULs, a hundred thousand rules",
            "RB-12": "a Crawl-delay of a day, or beyond all measure",
            "RB-13": "a Crawl-delay that is none",
            "RB-14": "a pattern made to be slow",
            "RB-15": "other rules for other schemes and ports",
            "RB-16": "nofollow in the page and in the header",
            "RB-17": "rules that drip",
        },
    ),
    Group(
        "Sitemaps",
        {
            "SM-01": "an index that lists itself",
            "SM-02": "indexes that list each other, and a chain of twenty",
            "SM-03": "two hundred thousand entries",
            "SM-04": "a plain sitemap beyond all size",
            "SM-05": "a sitemap that unpacks to gigabytes, packed at home and packed for the way",
            "SM-06": "entities that would expand to gigabytes",
            "SM-07": "entities that name a file, and a URL",
            "SM-08": "entries on other hosts and at forbidden addresses",
            "SM-09": "entries that are empty, wrapped, escaped, or of another scheme",
            "SM-10": "dates and priorities that cannot be",
            "SM-11": "cut in a tag, bytes that are no text, another root",
            "SM-12": "sitemaps with 404 and 500",
        },
    ),
    Group(
        "Traps",
        {
            "TR-01": "a calendar without end",
            "TR-02": "a new session id in every link",
            "TR-03": "a relative link that makes the path grow",
            "TR-04": "a pair of segments that repeats",
            "TR-05": "five parameters in every order, and some twice",
            "TR-06": "ten facets of ten values in all combinations",
            "TR-07": "any path, the same text, ten new links",
            "TR-08": "a host for every name",
            "TR-09": "many hosts on one address",
            "TR-10": "the last page under every higher number",
            "TR-11": "a full frontier, and then a new seed",
            "TR-12": "eight spellings of a page",
        },
    ),
    Group(
        "URLs",
        {
            "UR-01": "links to mail, scripts, files …",
            "UR-02": "ports that are none, and ports of other services",
            "UR-03": "user names and passwords in the URL",
            "UR-04": "backslashes for slashes",
            "UR-05": "tabs, line ends and control characters",
            "UR-06": "escapes: dots, NULs, broken ones, doubled ones",
            "UR-07": "a link of a megabyte",
            "UR-08": "brackets with and without an address",
            "UR-09": "addresses as odd numbers",
            "UR-10": "look-alike hosts",
            "UR-11": "a final dot",
            "UR-12": "four spellings of one URL",
            "UR-13": "underscores and leading hyphens",
            "UR-14": "no host",
            "UR-15": "labels and names that DNS cannot hold",
        },
    ),
    Group(
        "DNS",
        {
            "DN-01": "no such name, for 200 URLs",
            "DN-02": "servers that fail for a minute",
            "DN-03": "silence for 500 names",
            "DN-04": "a time to live of zero",
            "DN-05": "a time to live without end",
            "DN-06": "aliases in a circle",
            "DN-07": "another answer between check and use",
            "DN-08": "addresses out of bounds",
            "DN-09": "one good address and one out of bounds",
            "DN-10": "eight addresses, most of them dead",
            "DN-11": "IPv6 alone",
            "DN-12": "IPv6 that swallows packets",
            "DN-13": "a name without an address",
            "DN-14": "a host that moves",
            "DN-15": "no resolver at the start",
        },
    ),
    Group(
        "TLS",
        {
            "TL-01": "an expired certificate",
            "TL-02": "one that nobody vouches for",
            "TL-03": "one for another name",
            "TL-04": "no handshake",
            "TL-05": "a handshake that drips",
            "TL-06": "an outdated protocol",
            "TL-07": "a server that does not know the name",
        },
    ),
    Group(
        "Rate and refusal",
        {
            "RT-01": "429 with seconds",
            "RT-02": "429 with a date, in three forms",
            "RT-03": "a wait beyond all measure",
            "RT-04": "a wait that is none",
            "RT-05": "503 for a while",
            "RT-06": "connections refused for a while",
            "RT-07": "429, then our process is killed",
            "RT-08": "several workers on one host",
        },
    ),
    Group(
        "Control API",
        {
            "AP-01": "a body of 1 GiB, with and without a declared length",
            "AP-02": "bodies that are no JSON: broken, trailing junk, `NaN`, 100,000 nested arrays, invalid UTF-8",
            "AP-03": "fields that are missing, wrong, too many",
            "AP-04": "1,000,000 seeds in one stream, and in 100 calls",
            "AP-05": "no token, or a wrong one; bound elsewhere without one",
            "AP-06": "a page of another site in a browser: foreign `Host` or `Origin`, a body as text",
            "AP-07": "paths that lead out, with dots and NULs",
            "AP-08": "seeds at loopback, metadata and private addresses, `file:`, odd forms of IPv4",
            "AP-09": "line ends in a seed",
            "AP-10": "heads that come a byte at a time; many idle connections",
            "AP-11": "100,000 hosts with odd names, then the figures",
            "AP-12": "limits and delays that are zero, negative, huge, of unknown hosts, below the floor",
            "AP-13": "agents and paths with control characters, and very long ones",
            "AP-14": "seeds that were confirmed, then a kill, 1,000 times",
            "AP-15": "calls while the store is down",
        },
    ),
)

DIFFERENCES: dict[str, str] = {
    "TR-01": "The reason is `trap:alike` or `trap:same`: it says what the pages of the shape were (ADR 16). So with the"
    " other traps that are cut by their pages.",
    "HF-03": "The page is stored at the second try: libcurl ends the first one at such a line, and the host is read by"
    " our second reader from then on (ADR 10). To ask again at once would not be polite.",
    "SM-04": "Every body is cut at 10 MiB on the wire (`fetch.max_body_bytes`), so a plain sitemap is too: a body"
    " is held whole until it is stored, and 50 MiB are more than memory may grow by. A packed one is read to 50 MiB.",
    "BD-18": "That callers are answered meanwhile is tested, how quickly is not; that the loop is not held (G2) is"
    " measured.",
    "TR-11": "With 100,000 URLs instead of a million, and counted instead of timed: the new seed is fetched before the"
    " full host has been asked five times at a gap of half a second. Through the interface with 6,000, a million under"
    " `make soak`, and a hundred visits at a gap of 20 ms.",
    "AP-01": "With a cap of 200 KB: a length of 1 GiB is declared, and 125 MiB are sent in chunks without one.",
    "AP-02": "The time is not measured.",
    "AP-04": "With 40,000 seeds in one stream and 4,000 in 100 calls; `make soak` sends a million. The service is"
    " killed right after the last answer, and all are there. Callers are answered in the midst of the stream; how"
    " quickly is measured by `benchmarks/bench_service.py`, during a crawl. A seed costs about 60 µs of CPU time: a"
    " million, a minute.",
    "AP-05": "There is always a token: the first start makes one. One that others can read is refused at the start.",
    "AP-10": "Fifteen slow heads and a thousand idle connections, with a deadline of half a second and room for twenty"
    " connections. Another caller is answered 52 times meanwhile. New callers take the place of the connection that has"
    " been silent for longest.",
    "RT-08": "With a delay of a tenth of a second.",
    "AP-11": "With 2,000 hosts whose names no name server knows; `make soak` takes 100,000.",
    "AP-13": "Calls leave no line in the log at all; what is ordered for hosts with odd names does.",
    "AP-14": "Twice; `make soak` does it a thousand times.",
    "AP-15": "With the database locked by another process; the call is answered after half a second, three by default.",
}
"""Id -> in what our result is not to the letter the expected one, and why."""

NOT_YET: dict[str, str] = {}
"""Id -> why there is no test of it yet."""
