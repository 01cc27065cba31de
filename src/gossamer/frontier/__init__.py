"""What next, and when? The frontier, without IO.

In come hosts and URLs that are due, as the task table has them; out go visits, one per host and address at a time, none
before its time. On the way a URL passes:

    front queue (priority class) -> selector -> router -> back queue of its host -> politeness heap -> ready -> out

Reading order: `politeness` (when may a host be contacted?), `selector` (which class is served?), `front_queue`,
`back_queue`, `rests` (the politeness heap), `address_gate`, `ready`, `later` (URLs that are not due yet), `frontier`
(joins them); beside them `orderings` and `signals` (which class is a URL?) and `retries` (what after a failure?).

The task table is read and written while the frontier goes on, so what it learns may be old: a load may not know of a
commit that was reported before it arrived, and a batch is dated before it can be seen. `HostQueue.touch` and
`FrontQueue.touch` go back as far as such a batch may lie.

What always holds: a URL is handed out once until its outcome is settled; no host has two visits out; `not_before` is
never violated; memory is bounded by `FrontierLimits`, whatever the size of the crawl. Dropping all of it loses nothing.
"""
