"""The tables of a crawl in a PostgreSQL database.

`address` understands the URL of the database and opens connections; `schema` creates and migrates the tables;
`statements` finds the named statements in the `.sql` files of this folder; `driver` is the `Database` port on one
connection, and `commit_marks` tells it whether a transaction is on record whose commit was not answered; `tables` opens
the connections of writers, readers and workers; `session` is the connection for the protocol of workers;
`private_server` runs a server of its own in a crawl's directory, under a `server_keeper`, with the `server_programs` of
this machine. Needs the extra `cluster`.
"""
