"""The commands, one module each: `configure(parser)` declares its options, `run(arguments)` does it and returns the
exit status.

A module is imported only when its command is given, so `gossamer --help` costs nothing and `gossamer pages` never
loads a fetcher. `options` is the table of the options that are also keys of gossamer.toml.
"""

COMMANDS: dict[str, str] = {
    "crawl": "crawl from URLs until done, a limit or Ctrl-C; resumes what the directory holds",
    "serve": "crawl as a service: an HTTP interface to add seeds, watch and steer",
    "demo": "crawl a simulated web on this machine and show the report",
    "simweb": "serve the simulated web (HTTP and DNS on loopback)",
    "status": "the totals of a crawl, at rest or running",
    "hosts": "a line for every host: its queue, its delay, its trouble, and what was cut",
    "pages": "a line for every known page",
    "explain": "the whole story of a URL: how it was found, what was decided, what comes next",
    "export": "pages, links, texts or the link graph as JSONL, CSV, TSV or Parquet",
    "index": "a sorted CDXJ index of the WARC files, for replay tools",
    "verify": "every row has its record, every record its row; puts right what it can",
    "simulate": "compare orderings on a link graph, without fetching",
    "dead": "list, requeue or drop the URLs whose tries are used up",
}
