"""Where URLs enter.

Seeds come as text: arguments of the command, lines of a file or of standard input, a string or list sent to the API.
`lists` turns each into a `Seed`: the canonical URL, its host, and where it stood, so that which URLs were seeds
stays on record. A seed that is no http(s) URL is the user's mistake, not the web's: it is raised as `BadSeed`, naming
the line, before the crawl starts.

`search` asks a search engine for seeds (`duckduckgo` is one): the first page of results of a query, fetched by whoever
fetches pages. An engine that does not answer as expected is raised as `SearchFailed`, saying what it did instead.

What always holds: the order is kept, a URL given twice is one seed, and nothing is fetched here. How a URL becomes
canonical is not known here either: the function that does it is a parameter (`ports`).
"""
