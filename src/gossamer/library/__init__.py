"""Gossamer from Python: a crawl whose pages you take as they come (docs/EXTENDING.md).

`crawl.Crawl` runs one on your event loop; `blocking.crawl_pages` gives its pages to code without one.
"""
