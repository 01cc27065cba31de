"""A crawl by several processes on one machine.

Each worker is a complete crawl of its share of the domains (`model.partition`), with its own database and archive. It
runs the same code as a single-process crawl; links to domains of other workers are written to its outbox, in the commit
of the page (`store.table.outbox`). A supervisor starts the workers, restarts those that die, and forwards the contents
of the outboxes to the owners:

    supervisor.py       starts, watches and ends the workers; shows them as one crawl
    hub.py              messages between supervisor and workers; detects that all work is done; merges snapshots
    worker.py           a worker process
    outbox_exchange.py  within a worker: sends its outbox, receives URLs from other workers
    shared_gates.py     address gates shared by all workers

The supervisor holds no state that matters: it may be killed at any time, and so may any worker. A URL leaves an outbox
when its owner has committed it; if it is delivered twice, it is known the second time.
"""
