"""The frontier: decides which URL is fetched next, and when. Does no IO.

Input: hosts and due URLs, as the task table has them. Output: visits, one per host and address at a time, none before
the politeness delay has passed. On the way a URL passes:

    front queue (priority class) -> selector -> router -> back queue of its host -> politeness heap -> ready -> visit

Reading order: `politeness` (when may a host be contacted?), `selector` (which class is served?), `front_queue` (with
the timers of URLs that are not due yet), `back_queue` (a host's URLs in memory), `router` (which hosts have a back
queue, and what is loaded for them), `domain_counts`, `politeness_heap`, `address_gate`, `ready` with `lazy_heap`,
`cross_host` (requests of a visit to another host), `frontier` (joins them). In addition: `orderings` (how important is
a URL?), `retries` (what happens after a failure?) and `breaker` (hosts that keep failing).

The task table is read and written while the frontier works, so a load may be out of date: it may lack a commit that was
reported before it arrived, or include one that is reported later. Commits are numbered, so the queues know what a load
has seen; otherwise `HostQueue.grow` and `FrontQueue.grow` move the cursor back as far as necessary.

Invariants: a URL is handed out once until its outcome is settled; no host has two visits in flight; `not_before` is
never violated; memory is bounded by `FrontierLimits`, whatever the size of the crawl. Dropping the frontier loses
nothing.
"""
