"""One script per claim: `python -m benchmarks.bench_<name>`; `python -m benchmarks` runs them all.

`python -m benchmarks.instructions` compares two versions by the instructions they need,
`python -m benchmarks.walk` by the packages that the crawl of one page passes through.
"""
