"""Simulated web and simulators, used only by `gossamer demo`, `simweb` and `simulate`."""
