"""Steering: changes a running crawl by the orders and settings that other processes leave in its store
(`store.table.orders`, which says how), and publishes what has taken effect.

`steering` looks for what is new, has it applied, and makes the status. `settings` holds the settings that are in force
and brings others into force; where they change limits, `limit_pass` applies these to all known URLs in the background.
`orders` carries out orders: `seeds` admits seeds, and `state_changes` changes the states of known URLs.

Of several workers each applies settings, and the one that takes orders applies these (`CrawlMember.takes_orders`). They
learn with their heartbeats that there is something new: other settings, another configuration, or more seeds.

Runs on the event loop of the crawl. An order adds to the open batch, like everything else that is stored, and its
answer is part of the same batch.
"""
