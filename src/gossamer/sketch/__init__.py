"""Small approximate data structures that more than one stage needs.

No stage and no step of a URL's path: only structures, without IO, clock or knowledge of crawling. Any stage may
import this package; it imports nothing of ours.
"""
