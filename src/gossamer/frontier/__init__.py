"""What next, and when? The frontier, without IO.

In come hosts and URLs that are due, as the task table has them; out go visits, one per host and address at a time, none
before its time. On the way a URL passes:

    front queue (priority class) -> selector -> router -> back queue of its host -> politeness heap -> ready -> out

Reading order: `politeness` (when may a host be contacted?), `selector` (which class is served?), `front_queue`,
`back_queue` with `ranked` (a host's URLs by score), `router` (who has a back queue, and what is read for it),
`domains`, `rests` (the politeness heap), `address_gate`, `ready_classes` or `ready_scores` with `line`, `later` (URLs
that are not due yet), `errands` (a visit that must ask another host), `frontier` (joins them); beside them `orderings`
and `signals` (how important is a URL?), `retries` (what after a failure?) and `breaker` (a host in trouble).

The task table is read and written while the frontier goes on, so what it learns may be old: a load may not know of a
commit that was reported before it arrived, or know of one that is reported later. Commits are numbered, so the queues
know what a load has seen; for the rest `HostQueue.grow` and `FrontQueue.grow` go back as far as it may lie.

What always holds: a URL is handed out once until its outcome is settled; no host has two visits out; `not_before` is
never violated; memory is bounded by `FrontierLimits`, whatever the size of the crawl. Dropping all of it loses nothing.
"""
