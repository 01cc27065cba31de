"""Several workers on one machine: a supervisor that starts them, restarts those that die, and shows them as one crawl.

Each is a process `gossamer worker`; how they share a crawl is the business of `cluster` (ADR 25). They end with their
supervisor (`parent`).
"""
