"""The tables of a crawl in one SQLite file.

`driver` opens and migrates the file, finds the named statements in the `.sql` files of this folder, and is the
`Database` port on one connection. One connection writes; readers see the last commit (write-ahead log).
"""
