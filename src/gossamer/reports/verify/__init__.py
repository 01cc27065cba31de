"""Is everything there that should be, and nothing else?

In come a crawl's database and its WARC files; out go problems, each of a kind (`problems`). Every file is read from end
to end beside its rows (`files`): every row must have its record, with the right address and digests, and every record
its row. The tables of the database are held against each other (`rows`). What can safely be put right is put right
(`mending`), in one transaction, by whoever holds the directory's lock.

What always holds: without `--repair` nothing is changed, and the crawl may be running, since only what was committed
when it began is judged; with it, no committed byte of a WARC file that can still be read is cut or written over.
"""
