"""One script per claim: `python -m benchmarks.bench_<name>`; `python -m benchmarks` runs them all."""
