"""The crawl as a service: `gossamer serve`.

One process, one event loop: the crawl runs as long as the service does, and when nothing is left it waits for more.
A request passes the gate (`gate`: who may call, how much, how often), is read into a typed value (`bodies`), and goes
one of two ways. Questions are answered from the database on connections of their own, in threads (`asking`), or from
the last picture of the crawl (`feed`, `metrics`). Changes go through the one `Operator`, which puts them into the
crawl's next commit and answers when that is on record. What is to outlast the process (`standing`) is a fact of the
crawl's directory. The very same question, asked again within a moment, passes none of this: it gets the same answer
(`repeated`).

What always holds: a change that was acknowledged is committed; no change without the token; nothing that a caller does
makes the crawl less polite or lets it out of its addresses.
"""
