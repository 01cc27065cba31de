"""The archive of a crawl in object storage: S3 and compatible servers, Google Cloud Storage, Azure.

The records of one commit are one object, `EPOCH/COMMIT.warc.gz` below the prefix of the archive: an ordinary WARC file
that begins with a warcinfo record. `captures` puts it before the transaction that refers to it begins. The table
`warc_files` lists the objects with their lengths. `reader` reads ranges of them, `storage` is the only module that
imports obstore.

If the storage is down or slow, the object goes to the `spool` of the worker, a folder on its disk, and the commit goes
on. A thread delivers it later (`delivery`), and until then it is read from there.

Invariants:
  * an object that a committed row refers to is in the storage or in the spool, whole;
  * a name is used for one content only, so a put may be repeated, and a late one does no harm;
  * spooled objects are delivered in the order in which they were written, and removed from the spool after that;
  * an object that no row refers to is left by a batch that was not committed. Only `verify --repair` deletes it, and
    only if no living worker has its epoch.
"""
