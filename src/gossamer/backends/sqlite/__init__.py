"""The task table and its companions in one SQLite file.

`database` opens and migrates it, `queries` finds the named SQL beside it, `rows` runs it for many rows at a time.
`writer` commits batches: `hosts` gives it the rows of hosts and domains, `links` stores and counts what pages link to
(as bytes: `link_pages`). `reordering` puts waiting URLs elsewhere while links to them are found, and makes the queue
true for another ordering before a crawl goes on; `orders` queues URLs again that somebody gives back. `loader`
reads what the frontier asks for; `pages`, `dead_letters`, `host_reports`, `reports`, `story` and `graph` read for
people. One connection writes; readers see the last commit (write-ahead log).
"""
