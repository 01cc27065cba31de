"""Several workers share one crawl: leases, membership, ownership of partitions, and what passes between their owners.

The tables are the truth; this package is the protocol on them (ADR 25). A worker joins under an *epoch*, a random
number that stands for one life of it. A thread sends its heartbeats. While they are answered it holds a *lease*,
without which it contacts no host. Every transaction that it commits passes its *fence* first, a row that says whether
it is still alive, so a worker that was declared dead changes nothing any more. It owns *partitions* of the registrable
domains: takes free ones, gives up what exceeds its share, and loses all of them when it dies. Whatever concerns the
partition of another worker goes to the *inbox* of that partition.

In reading order: `lease`, `watch`, `share` and `handover`, which decide and do no IO; `fence`, `heartbeat`,
`membership`, `partitions`, `inbox`, `host_holds`, `shared_addresses`, `page_grants` and `crawl_end`, which run named
statements on a `Session`.

What always holds: a host is contacted by one worker at a time, and by the next one only after a rest; a page is stored
once; nothing that was committed is lost. None of it depends on comparing the clocks of two machines.
"""
