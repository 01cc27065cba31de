"""HTTP/1.1 and TLS: one request, one answer, byte for byte.

`ports` says what a fetcher promises, so that another scheme is a plug-in. `curl` keeps the promise on
libcurl and uvloop: it builds the request head, pins the address, collects the exact bytes of the answer
and stops what is too long (`exchange`), too slow (`deadlines`) or ill-formed (`chunked`). What libcurl reports
becomes one of our failures in `failures`. `headers` reads the few fields that we act on; `body` removes
transfer and content codings from a finished response, with limits.
"""
