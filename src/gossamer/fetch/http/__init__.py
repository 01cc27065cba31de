"""HTTP/1.1, HTTP/2 and TLS: one request and its response, byte for byte.

`options` has the settings of requests to one host. `curl` implements `fetch.ports.Fetcher` on libcurl and the event
loop (`multi`): each request configures a `handle` for its host and its pinned address, an `exchange` collects the exact
bytes of the response and aborts one that is too long or malformed, and a periodic sweep aborts what is too slow
(`failures`, which also maps libcurl's errors to ours). Idle connections are checked before they are used again;
`proxies` makes the hosts behind a proxy wait while it is down; `lenient` reads responses whose heads libcurl refuses,
from the host's next visit on. `headers` parses header fields; `body` removes transfer and content codings from a
finished response, within limits, with the decoders in `codings`.
"""
