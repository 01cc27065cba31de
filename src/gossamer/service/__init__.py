"""A crawl as an HTTP service: `gossamer serve`.

The crawl runs until the service is stopped; when nothing is left to do it waits for seeds. There are two processes,
which share nothing but the store: the crawl, and the front process (`front_process`, `http_server`), which has the
connections and the application (`app`, `routes`). It checks every request (`access`: token, host name, rate, size) and
answers reads from the store, in threads (`queries`), or from the live status that the crawl publishes (`live_view`,
`metrics`, `event_stream`).

For a change the body is validated (`schemas`), and `control.Control` leaves an order or other settings in the store;
the crawl applies them (`crawl.steering`), and the answer follows when it has.

Invariants: an acknowledged change is committed, and whatever is read after it shows it; there is no change without the
token; no request can make the crawl less polite or let it connect to addresses that it may not use.
"""
