"""Simulated web and simulators: behind `gossamer demo`, `simweb` and `simulate` only."""
