"""The crawl as a service: `gossamer serve`.

The crawl runs as long as the service does, and when nothing is left it waits for more. Callers reach another process,
the `front`, which has the connections and is shown the crawl four times a second: neither waits for the other. A
request passes the gate there (`gate`: who may call, how much, how often) and goes one of two ways. Questions are
answered in front, from the database in threads (`asking`), or from the last picture of the crawl (`metrics`). What
touches the crawl goes over a link (`across`) to the application beside it (`beside`): it is read into a typed value
(`bodies`), changes go through the one `Operator`, which puts them into the crawl's next commit and answers when that
is on record. What is to outlast the process (`standing`) is a fact of the crawl's directory.

What always holds: a change that was acknowledged is committed; no change without the token; nothing that a caller does
makes the crawl less polite or lets it out of its addresses.
"""
