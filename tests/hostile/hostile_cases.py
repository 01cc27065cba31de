"""The hostile cases by id: what the peer does, and where our result differs from the expected one.

hostile_table.py generates docs/HOSTILE.md from this and from the names of the tests; test_hostile_table.py checks that
every case has a test.
"""

from typing import NamedTuple


class Group(NamedTuple):
    title: str
    cases: dict[str, str]
    """Id -> what the peer does."""


GROUPS: tuple[Group, ...] = (
    Group(
        "HTTP framing",
        {
            "HF-01": "a malformed status line",
            "HF-02": "a status line without a reason phrase",
            "HF-03": "a header line without a colon",
            "HF-04": "header names in curly quotes, or with a space before the colon",
            "HF-05": "lines that end in a bare LF; folded lines",
            "HF-06": "the same Content-Length twice",
            "HF-07": "two different Content-Lengths",
            "HF-08": "both Content-Length and chunked coding, then extra bytes",
            "HF-09": "a body shorter than its Content-Length",
            "HF-10": "more bytes than the Content-Length",
            "HF-11": "a huge Content-Length, a little data, silence",
            "HF-12": "invalid chunk sizes",
            "HF-13": "a chunked body that ends early, within or between chunks",
            "HF-14": "an endless chunk extension; endless trailers",
            "HF-15": "a hundred thousand header lines; one header of 10 MiB",
            "HF-16": "a head sent byte by byte",
            "HF-17": "informational responses before the final one",
            "HF-18": "204 and 304 with a body",
            "HF-19": "no status line at all",
            "HF-20": "a connection, new or reused, that closes before any byte",
            "HF-21": "hundreds of cookies",
            "HF-22": "HTTP/1.0 without a length",
            "HF-23": "an empty body",
            "HF-24": "a status line of `HTTP/3.0`, or with a status of four digits",
            "HF-25": "a head that readers understand differently: two Location fields, a CR within a value",
            "HF-26": "an endless run of informational responses",
            "HF-27": "206 with a part of the document, although none was requested",
            "HF-28": "HTTP/2 streams that are refused, and connections that end, with an invitation to ask again",
        },
    ),
    Group(
        "Bodies",
        {
            "BD-01": "a gzip bomb",
            "BD-02": "a brotli bomb in one block",
            "BD-03": "more than three content codings",
            "BD-04": "a truncated compressed body with a matching Content-Length",
            "BD-05": "a coding other than the declared one",
            "BD-06": "an unknown coding",
            "BD-07": "endless chunks at full speed",
            "BD-08": "a body sent byte by byte",
            "BD-09": "bytes that are invalid in the declared charset",
            "BD-10": "no declared charset",
            "BD-11": "misleading charset labels",
            "BD-12": "NULs in the markup",
            "BD-13": "UTF-16, with and without a byte order mark",
            "BD-14": "random bytes, or an image, declared as HTML",
            "BD-15": "a start tag of 5 MB",
            "BD-16": "comments and CDATA opened thousands of times",
            "BD-17": "elements nested a hundred thousand deep",
            "BD-18": "four hundred thousand links on a page",
            "BD-19": "HTML declared as another type or none",
            "BD-20": "a data: URI of 8 MiB",
            "BD-21": "markup whose tree takes fifty times as much memory: NULs, `<p>` repeated, links",
        },
    ),
    Group(
        "Redirects",
        {
            "RD-01": "a redirect to itself",
            "RD-02": "a redirect loop over two hosts",
            "RD-03": "ten redirects, and eleven",
            "RD-04": "endless redirects",
            "RD-05": "a redirect to a `file:` URL",
            "RD-06": "a redirect to other schemes",
            "RD-07": "a redirect to forbidden addresses",
            "RD-08": "a redirect to a URL with credentials",
            "RD-09": "Location in all relative forms",
            "RD-10": "Location in raw bytes, with spaces and quotes",
            "RD-11": "a redirect without Location",
            "RD-12": "refreshes in the page",
            "RD-13": "a redirect to internationalised names, valid and invalid",
            "RD-14": "a redirect to a URL that robots.txt disallows",
            "RD-15": "a redirect out of scope",
            "RD-16": "a hundred hosts that redirect to one victim",
            "RD-17": "300 with a page of alternatives",
            "RD-18": "a `Refresh` header",
            "RD-19": "a redirect from an origin with credentials to http, or to another port",
        },
    ),
    Group(
        "robots.txt",
        {
            "RB-01": "500, or 503 with a page",
            "RB-02": "404, 410, 401, 403",
            "RB-03": "429 with Retry-After",
            "RB-04": "behind five redirects, and behind six",
            "RB-05": "the home page instead of robots.txt",
            "RB-06": "unreachable: connection, reset, name",
            "RB-07": "600 KB of rules",
            "RB-08": "endless rules",
            "RB-09": "a byte order mark first",
            "RB-10": "UTF-16, or stray Latin-1 bytes",
            "RB-11": "CR line ends, NULs, a hundred thousand rules",
            "RB-12": "a Crawl-delay of a day, or a huge number",
            "RB-13": "an invalid Crawl-delay",
            "RB-14": "a pattern that is slow to match",
            "RB-15": "different rules for different schemes and ports",
            "RB-16": "nofollow in the page and in the header",
            "RB-17": "a robots.txt sent byte by byte",
            "RB-18": "a robots.txt of which a part arrives: cut short, 206, or in a coding that cannot be removed",
        },
    ),
    Group(
        "Sitemaps",
        {
            "SM-01": "an index that lists itself",
            "SM-02": "indexes that list each other, and a chain of twenty",
            "SM-03": "two hundred thousand entries",
            "SM-04": "an oversized uncompressed sitemap",
            "SM-05": "a sitemap that decompresses to gigabytes, as a file and by content coding",
            "SM-06": "entities that would expand to gigabytes",
            "SM-07": "entities that refer to a file, and to a URL",
            "SM-08": "entries on other hosts and at forbidden addresses",
            "SM-09": "entries that are empty, wrapped, escaped, or of another scheme",
            "SM-10": "invalid dates and priorities",
            "SM-11": "truncated in a tag, invalid bytes, an unexpected root element",
            "SM-12": "sitemaps with 404 and 500",
        },
    ),
    Group(
        "Traps",
        {
            "TR-01": "an endless calendar",
            "TR-02": "a new session id in every link",
            "TR-03": "a relative link that makes the path grow",
            "TR-04": "a pair of segments that repeats",
            "TR-05": "five parameters in every order, and some twice",
            "TR-06": "ten facets of ten values in all combinations",
            "TR-07": "any path, the same text, ten new links",
            "TR-08": "a host for every name",
            "TR-09": "many hosts on one address",
            "TR-10": "the last page under every higher number",
            "TR-11": "a full frontier, then a new seed",
            "TR-12": "eight spellings of one page",
            "TR-13": "pages of several shapes that lead to new pages of each other, without end",
            "TR-14": "every link a redirect to a new page, without end",
            "TR-15": "a new script in every link",
            "TR-16": "hosts without end that redirect to each other",
        },
    ),
    Group(
        "URLs",
        {
            "UR-01": "links to `mailto:`, `javascript:`, `file:` …",
            "UR-02": "invalid ports, and ports of other services",
            "UR-03": "user names and passwords in the URL",
            "UR-04": "backslashes instead of slashes",
            "UR-05": "tabs, line breaks and control characters",
            "UR-06": "escapes: dots, NULs, malformed ones, double ones",
            "UR-07": "a link of a megabyte",
            "UR-08": "brackets with and without an address",
            "UR-09": "addresses in unusual number formats",
            "UR-10": "look-alike hosts",
            "UR-11": "a final dot",
            "UR-12": "four spellings of one URL",
            "UR-13": "underscores and leading hyphens",
            "UR-14": "no host",
            "UR-15": "labels and names too long for DNS",
            "UR-16": "names that no resolver accepts: `a,b.example`, `a~b`, `{x}`",
        },
    ),
    Group(
        "DNS",
        {
            "DN-01": "no such name, for 200 URLs",
            "DN-02": "servers that fail for a minute",
            "DN-03": "no answer for 500 names",
            "DN-04": "a time to live of zero",
            "DN-05": "an endless time to live",
            "DN-06": "an alias loop",
            "DN-07": "a different answer between check and use (DNS rebinding)",
            "DN-08": "forbidden addresses",
            "DN-09": "one permitted and one forbidden address",
            "DN-10": "eight addresses, most of them dead",
            "DN-11": "IPv6 only",
            "DN-12": "IPv6 that drops packets",
            "DN-13": "a name without an address",
            "DN-14": "a host that changes its address",
            "DN-15": "no resolver at the start",
            "DN-16": "a name server that needs seconds for every answer, or falls silent for a while",
            "DN-17": "name servers that fail for ever, for single hosts and for all hosts of a domain",
        },
    ),
    Group(
        "TLS",
        {
            "TL-01": "an expired certificate",
            "TL-02": "an untrusted certificate",
            "TL-03": "a certificate for another name",
            "TL-04": "no handshake",
            "TL-05": "a handshake sent byte by byte",
            "TL-06": "an outdated protocol",
            "TL-07": "a server that does not know the name",
        },
    ),
    Group(
        "Rate and refusal",
        {
            "RT-01": "429 with Retry-After in seconds",
            "RT-02": "429 with Retry-After as a date, in three formats",
            "RT-03": "a huge Retry-After",
            "RT-04": "an invalid Retry-After",
            "RT-05": "503 for some time",
            "RT-06": "refused connections for some time",
            "RT-07": "429, then a kill of our process",
            "RT-08": "several workers on one host",
            "RT-09": "Retry-After in a redirect, or in a page",
            "RT-10": "Retry-After as a date, by a clock that is wrong",
            "RT-11": "429 for ever, for the only URL of a host",
            "RT-12": "Retry-After several times",
        },
    ),
    Group(
        "Output",
        {
            "OU-01": "titles, link texts and paragraphs that a spreadsheet takes for formulas",
            "OU-02": "control characters in titles, header fields, status lines and redirects, shown on a terminal",
        },
    ),
    Group(
        "Control API",
        {
            "AP-01": "a body of 1 GiB, with and without a declared length",
            "AP-02": "invalid JSON: malformed, trailing data, `NaN`, 100,000 nested arrays, invalid UTF-8",
            "AP-03": "missing, wrong and unknown fields",
            "AP-04": "1,000,000 seeds in one stream, and in 100 requests",
            "AP-05": "no token, or a wrong one; bound to another address without a token",
            "AP-06": "a page of another site in a browser: foreign `Host` or `Origin`, a text body",
            "AP-07": "paths that escape the root, with dots and NULs",
            "AP-08": "seeds at loopback, metadata and private addresses, `file:`, unusual forms of IPv4",
            "AP-09": "line breaks in a seed",
            "AP-10": "heads sent byte by byte; many idle connections",
            "AP-11": "100,000 hosts with unusual names, then the metrics",
            "AP-12": "limits and delays that are zero, negative, huge, for unknown hosts, or below the minimum",
            "AP-13": "user agents and paths with control characters, and very long ones",
            "AP-14": "acknowledged seeds, then a kill, 1,000 times",
            "AP-15": "requests while the store is down",
            "AP-16": "origins that are not URLs; no `Host` field, or several",
            "AP-17": "clients that hold all connections, and clients that do not read their responses",
            "AP-18": "more clients of `/events` than are admitted, none of which reads",
        },
    ),
)

DIFFERENCES: dict[str, str] = {
    "TR-01": "The reason is `trap:alike` or `trap:same`, which describes the pages of the shape (ADR 16). The same "
    "holds for the other traps that are cut by content.",
    "HF-03": "The page is stored at the second attempt: libcurl aborts the first one at such a line, and the host is "
    "read by our second parser from then on (ADR 10). Repeating the request at once would be impolite.",
    "SM-04": "Every body is cut at 10 MiB on the wire (`fetch.max_body_bytes`), so an uncompressed sitemap is too: a "
    "body is kept in memory until it is stored, and 50 MiB exceed the permitted growth. A compressed one is "
    "read up to 50 MiB.",
    "BD-18": "Links that are not kept are counted as far as the page is parsed. The test checks that other clients are "
    "served meanwhile, but not how quickly; it measures that the loop is not blocked (G2).",
    "TR-11": "With 100,000 URLs instead of a million, and counted instead of timed: the new seed is fetched before the "
    "full host has been contacted five times at a gap of half a second. Through the API with 6,000, a million "
    "under `make soak`, and a hundred visits at a gap of 20 ms.",
    "AP-01": "With a limit of 200 KB: a length of 1 GiB is declared, and 125 MiB are sent in chunks without one.",
    "AP-02": "The time is not measured.",
    "AP-04": "With 40,000 seeds in one stream and 4,000 in 100 requests; `make soak` sends a million. The service is "
    "killed right after the last response, and all seeds are stored. Other clients are served during the "
    "stream; `benchmarks/bench_service.py` measures how quickly, during a crawl. A seed takes about 60 µs of "
    "CPU time: a million, a minute.",
    "AP-05": "There is always a token: the first start creates one. A token file that others can read is rejected at "
    "startup.",
    "AP-10": "Fifteen slow heads and a thousand idle connections, with a deadline of half a second and a limit of "
    "twenty connections. Another client receives 52 responses meanwhile. A new client replaces the connection "
    "that has been idle for longest.",
    "RT-08": "With a delay of a tenth of a second.",
    "AP-11": "With 2,000 hosts whose names do not resolve; `make soak` takes 100,000.",
    "AP-13": "Requests are not logged at all; changes of hosts with unusual names are.",
    "AP-14": "Twice; `make soak` does it a thousand times.",
    "AP-15": "With the database locked by another process; the response comes after half a second, three by default.",
    "AP-17": "With a limit of twenty connections, and of 20 ms instead of 30 s for reading 64 KB.",
}
"""Id -> how our result differs from the expected one, and why."""

NOT_YET: dict[str, str] = {}
"""Id -> why there is no test yet."""
