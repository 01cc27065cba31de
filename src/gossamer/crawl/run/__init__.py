"""Running a crawl: its directory, the composition root, recovery after a crash, session, signals."""
