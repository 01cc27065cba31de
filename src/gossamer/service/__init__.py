"""A crawl as an HTTP service: `gossamer serve`.

The crawl runs until the service is stopped; when nothing is left to do it waits for seeds. There are two processes. The
front process (`front_process`, `http_server`) holds the client connections and receives a snapshot of the crawl four
times a second, so that neither process waits for the other. It checks every request (`access`: token, host name, rate,
size) and answers reads itself, from the database in threads (`queries`) or from the last snapshot (`metrics`).

Requests that concern the running crawl are passed on to the crawl process (`bridge`), which runs the same application
(`app`, `routes`). There a body is validated (`schemas`), and a change is made by `control.Control`, which adds it to
the next commit of the crawl and answers when it is committed. Settings that outlast the process (`overrides`) are
stored with the crawl.

Invariants: an acknowledged change is committed; there is no change without the token; no request can make the crawl
less polite or let it connect to addresses that it may not use.
"""
