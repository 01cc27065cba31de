"""The tables of a crawl in one SQLite file.

`database` opens and migrates the file and finds the named statements in the `.sql` files of this folder; `driver` is
the `Database` port on one connection, and opens connections. One connection writes; readers see the last commit
(write-ahead log).
"""
