"""The task table of a crawl: what is written and read, over any `Database`.

`writer` commits batches (`BatchWriter`) and `loader` reads them back (`TaskSource`). Parts of a commit: `hosts` (rows
of hosts, domains and sitemaps), `link_counts` (the link graph, in-links and credit), `priorities` (places in the
queue), `requeue` (URLs that are due again), `bulk_changes` (requests of operators),
`metadata` (identity, options, what was learned).
"""
