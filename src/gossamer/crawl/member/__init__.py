"""One of the workers that share a crawl: how this process joins, owns partitions, and leaves (`cluster`, ADR 25).

`cluster` is the protocol: decisions, and statements on the tables. This package carries it out in a running crawl.
`Member` is created before the crawl is assembled, and runs alongside it:

  * the lease is watched, and contacts are cut off at its end;
  * partitions are taken and given up, so that every worker has its share; silent workers are declared dead;
  * addresses are exchanged with other workers;
  * messages in the inboxes of the partitions are taken in;
  * pages are granted, and the end of the crawl is found.

What always holds: no contact starts or goes on without a lease; a partition is given up only when nothing is in flight
there and everything about it is committed. Statements that change tables run in the thread of the store, behind the
fence, between two commits. Everything else belongs to the event loop.

In reading order: `worker` (its name and its file), `joining`, `shared_store` (statements behind the fence), `ownership`
(which partitions are its own), `first_contact` and `contact_permit` (when hosts may be contacted), `shared_rules`,
`crawl_end`, `page_limit`, `host_lending` and `message_intake` (what other workers send), `host_holds` (what this worker
asks of them), `balance` (taking partitions and giving them up), `address_exchange`, `worker_figures`, and `member`,
which joins them.
"""
