"""What next, and when? The frontier, without IO.

In come hosts and URLs that are due, as the task table has them; out go visits, one per host and address at a time, none
before its time. On the way a URL passes:

    front queue (priority class) -> selector -> router -> back queue of its host -> politeness heap -> ready -> out

Reading order: `politeness` (when may a host be contacted?), `selector` (which class is served?), `front_queue`,
`back_queue`, `address_gate`, `ready`, `frontier` (joins them); beside them `priority` (which class is a URL?) and
`retries` (what after a failure?).

What always holds: a URL is handed out once until its outcome is settled; no host has two visits out; `not_before` is
never violated; memory is bounded by `FrontierLimits`, whatever the size of the crawl. Dropping all of it loses nothing.
"""
