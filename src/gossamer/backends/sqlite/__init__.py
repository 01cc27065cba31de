"""The task table and its companions in one SQLite file.

`database` opens and migrates it, `queries` finds the named SQL beside it, `writer` commits batches, `loader` reads what
the frontier asks for, `reports` reads for people. One connection writes; readers see the last commit (write-ahead log).
"""
