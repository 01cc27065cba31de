"""The contact journal: which hosts did we contact that the database does not know of yet?

The database learns of a contact when its batch is committed, a moment after it. A process killed in that moment would
come back and contact the host too early. So every contact is noted in a small append-only file first: one record when
a request is about to be sent, one when it is over. Writing to the page cache survives `kill -9`, costs about two
microseconds and needs no fsync (after a power cut the machine was away longer than a gap).

`journal` writes and replays it. A journal is dropped when a batch that knows all its contacts has been committed.
"""
