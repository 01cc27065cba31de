"""The crawl: joins the stages.

`engine` starts visits and loads the frontier, `visit/` performs one visit, `document/` processes one document, and
`visit.settle` is where both end: in the open batch of the store. `observers` has the protocol by which the other parts
follow along: the counters, `requeue` (due URLs), `trap_accounts` (feedback), `events` (subscribers and hooks). `slots`
decides how much happens at a time, `status` reports it. `member/` is this process as one of the workers that share a
crawl. `run/` opens, runs and closes a crawl, and applies changed rules to it; `steering/` changes a running crawl as
other processes ask.

Invariants: nothing counts as done before it is committed; a visit in flight is not state; every queue is bounded;
while one of four queues (bodies, documents, batch, subscribers) is at least 80 % full, nothing new is fetched.
"""
