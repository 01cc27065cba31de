"""The stages in order, joined.

`pipeline` is the crawl: it turns the frontier's visits into fetches, fetches into documents, documents into batches,
and commits into news for the frontier. `visiting` performs one visit, `reading` reads one document, `intake` lets URLs
in, `landing` decides what an answer means for its URL. `recrawling` plans the next visit of everything, `refreshing`
queues what is due again; `rehearsal` lets months of that pass within minutes, on this machine. `directory` is the
crawl's place on disk, `recovery` what a crash left behind, `supervisor` runs a crawl from start to end: signals,
limits, progress.

What always holds: nothing is counted as done before it is committed; a visit in flight is not state; every queue is
bounded, and at 80 % nothing new is fetched.
"""
