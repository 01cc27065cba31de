"""Small approximate data structures that more than one stage uses.

Not a stage: data structures only, without IO, clock or knowledge of crawling. Any stage may import this package; it
imports nothing outside `native`.
"""
