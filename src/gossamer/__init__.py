"""Gossamer: a polite, prioritised, crash-proof web crawler.

Read the packages in the order a URL passes through them: `seed`, `filter`, `seen`, `frontier`,
`fetch`, `extract`, `dedup`, `store`. The values that travel between them are in `model`;
`crawl.pipeline` joins the stages, `assemble` chooses the backends.
"""

__version__ = "0.1.0"
