"""The tables of a crawl in a PostgreSQL database.

`address` understands the URL of the database and opens connections; `schema` creates and migrates the tables;
`statements` finds the named statements in the `.sql` files of this folder; `driver` is the `Database` port on one
connection, and opens connections. Needs the extra `cluster`.
"""
