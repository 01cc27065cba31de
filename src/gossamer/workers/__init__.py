"""A crawl by several processes on one machine.

Each worker is a whole crawl of its own, with its own database and archive, of its own part of the domains
(`model.partition`). It runs the same code as a crawl by one process does; what its pages link to in another part it
keeps in its outbox, with the commit of the page (`store.table.outbox`). A supervisor starts the workers,
restarts those that die, and carries what lies in the outboxes to the owners:

    supervisor.py   starts, watches and ends the workers; shows them as one crawl
    hub.py          what the workers tell the supervisor and each other; knows when all is done
    worker.py       one worker: a process
    exchange.py     within a worker: empties its outbox, takes in what others have found for it
    gates.py        addresses that several workers contact: one at a time, and each is owed its gap
    merging.py      the figures of all as those of one
    layout.py       where they are: DIR/worker-1, DIR/worker-2, ...

Nothing that matters is in the supervisor: it may be killed, and so may any worker, at any instant. A URL leaves an
outbox when its owner has it on record; handed over twice, it is known the second time.
"""
