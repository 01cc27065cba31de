"""The commands, one module each: `configure(parser)` declares its options, `run(arguments)` does it and returns the
exit status.

A module is imported only when its command is given, so `gossamer --help` costs nothing and `gossamer pages` never
loads a fetcher. `config_options` is the table of the options that are also keys of gossamer.toml.
"""

COMMANDS: dict[str, str] = {
    "crawl": "crawl from seeds; resumes the crawl in the directory",
    "worker": "join a crawl that several workers share",
    "workers": "list the workers that share a crawl, or ask one to leave",
    "migrate": "bring the tables of a crawl on PostgreSQL up to date",
    "serve": "crawl as a service that is controlled over HTTP",
    "demo": "crawl a simulated web on this machine and print the report",
    "simweb": "serve a simulated web (HTTP and DNS on loopback)",
    "status": "show the totals of a crawl",
    "hosts": "list hosts: queue, delay, failures, traps",
    "pages": "list known URLs",
    "explain": "explain a URL: how it was found, what was decided, what comes next",
    "export": "export pages, links, texts or the link graph",
    "index": "write a CDXJ index of the WARC files, for replay tools",
    "verify": "check the archive against the database, and repair it",
    "simulate": "compare orderings or recrawl policies without fetching",
    "dead": "list, requeue or drop URLs that failed too often",
    "schema": "print the JSON Schema of an output",
    "completion": "print a completion script for a shell",
}
