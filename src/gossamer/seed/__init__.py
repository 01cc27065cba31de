"""Seeds: where URLs enter the crawl.

Seeds arrive as text: arguments of the command, lines of a file or of standard input, a string or list sent to the API.
`lists` turns each into a `Seed`: the canonical URL, its host, and where it was given, which is recorded. A seed that is
not a valid URL is the user's mistake, not the web's: it is raised as `BadSeed`, with its line, before the crawl starts.

`search` gets seeds from a search engine: the first page of results of a query.
An engine that does not answer as expected is raised as `SearchFailed`, with what it did instead.

Invariants: the order is kept, and a URL given twice is one seed. `lists` and `search` do no IO; canonicalisation and
fetching are parameters.
"""
