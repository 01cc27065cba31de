"""A crawl's results in the forms that other tools read.

In comes a finished or running crawl, read only; out go tables of pages, links, texts or the link graph (`tables`), as
JSON lines, CSV, tab-separated values or Parquet (`formats`, `parquet`). What the database has is read from there; links
with their texts and the texts of pages are read again from the WARC records (`documents`), one at a time. `selection`
says which pages are wanted, `rows` streams them, `edges` turns fingerprints back into URLs, `output` puts a file in
place when it is whole, and not before.

What always holds: memory does not grow with the number of rows (the link graph takes sixteen bytes for each known URL);
a file under the name that was asked for is complete; the crawl is never held up.
"""
