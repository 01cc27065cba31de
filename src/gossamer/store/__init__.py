"""From outcomes to rows and records: what a visit leaves behind.

In come settlements (what became of a URL), captures (documents for the WARC files), candidates (new URLs) and host
clocks, collected in a `Batch`. Out goes one transaction per batch: either all of it is in the database and in the
WARC file's committed length, or none of it is. `ports` has what a backend implements,
`table` the logic of the task table over it, `threads` the threads that write and read.

What always holds: nothing counts as done before its transaction is committed; a record is in a WARC file exactly if
its row is in the database (the file is cut back to its committed length on start).
"""
