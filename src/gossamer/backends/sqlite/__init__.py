"""The tables of a crawl in one SQLite file.

`database` opens and migrates the file and finds the named statements in the `.sql` files of this folder; `driver` is
the `Database` port on one connection, and `tables` opens connections. For reading, `crawl_reader` implements the ports
of `reports`, with `reports`, `pages`, `explain_reader`, `export_reader` and `verify`. One connection writes; readers
see the last commit (write-ahead log).
"""
