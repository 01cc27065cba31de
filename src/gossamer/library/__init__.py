"""The Python API: run a crawl and iterate over its pages (docs/EXTENDING.md).

`crawl.Crawl` runs a crawl on your event loop; `crawl.crawl_pages` is for code without an event loop.
"""
