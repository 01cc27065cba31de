"""The life of a crawl: its directory, its parts, recovery after a crash, signals."""
