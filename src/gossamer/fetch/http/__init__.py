"""HTTP/1.1, HTTP/2 and TLS: one request, one answer, byte for byte.

`ports` says what a fetcher promises, so that another scheme is a plug-in; `options` what the operator wishes for one
host. `curl` keeps the promise on libcurl and the event loop (`multi`): each request turns a `handle` to its host and
its pinned address, an `exchange` collects the exact bytes of the answer and stops what is too long or ill-formed
(`chunked`), and a sweep ends what is too slow (`deadlines`). Connections rest between two visits and are looked at
before they are used again (`resting`). What libcurl reports becomes one of our failures in `failures`; a proxy that is
down makes its hosts wait (`proxies`); heads that libcurl refuses are read by `lenient` at the host's next visit.
`headers` reads the few fields that we act on; `body` removes transfer and content codings from a finished response,
with limits, by the decoders in `codings`.
"""
