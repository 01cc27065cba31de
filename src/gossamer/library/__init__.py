"""Gossamer from Python: a crawl whose pages you take as they come (docs/LIBRARY.md).

`crawl.Crawl` runs one on your event loop, `blocking.crawl_pages` gives its pages to code without one, `page.Page` is
what you get, and `hooks.Hook` is what a package of yours adds to every crawl that names it.
"""
