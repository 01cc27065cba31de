"""The read side of a crawl: queries, explain, export and verify."""
