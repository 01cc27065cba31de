"""The results of a crawl as tables for other tools: pages, links, texts or the link graph.

`tables` has the columns and the filter, `rows` streams the rows, and `formats` and `parquet` write them as JSON lines,
CSV, tab-separated values, Markdown or Parquet. Rows come from the store; links with their texts and the texts of pages
are parsed again from the archive, one page at a time. The crawl may be running.

Memory does not grow with the number of rows, except for the link graph, which takes 16 bytes for each known URL. An
output file appears under its name when it is complete.
"""
