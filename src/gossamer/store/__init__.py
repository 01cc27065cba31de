"""Stores the results of visits: rows in the tables, records in the archive.

A `Batch` collects settlements (the results of visits), captures (documents for the archive), candidates (new URLs) and
host clocks, and is committed in one transaction: all of it is in the tables and in the committed length of the archive,
or none of it. `ports` has what a backend implements, `table` the logic of the task table over it, `threads` the threads
that write and read.

Invariants: nothing counts as done before its transaction is committed; a record is in the archive exactly if its row is
in the tables (files are cut back to their committed length at the start).
"""
