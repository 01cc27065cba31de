"""The read side of the task table: the readers of `reports.ports` on any `Database`, by named statements.

A statement reads a bounded number of rows, so that a slow reader does not hold up a running crawl. What has to agree is
read in one short snapshot; otherwise, changes that are committed between two statements may show. `reader` joins them.
"""
