"""Changed rules, applied to what a crawl knows already.

Tightened limits take queued URLs out (`limit_enforcement`), other priority rules move them (`reordering`), and wider
rules bring back what was refused (`readmission`). Each works in slices, one per commit, while the crawl runs.
"""
