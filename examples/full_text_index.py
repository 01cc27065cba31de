"""Feed a full-text index with the documents of a crawl that runs in another process.

Start the crawl with `--cache redis://localhost:6379/0`, and in gossamer.toml: [cache] documents = 100000, text = true.
Several of these programs may run at the same time: each document goes to one of them.
"""

import sqlite3

import gossamer

index = sqlite3.connect("index.db", timeout=60)
index.execute("CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, url TEXT UNIQUE, title TEXT)")
index.execute("CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(title, text)")

for document in gossamer.stream("redis://localhost:6379/0", group="full-text index"):
    if document.gap:
        print(f"{document.gap} documents before {document.url} were not announced; gossamer.open() has them")
    with index:  # committed before the document is acknowledged, so that none is lost
        # A document that comes again, as a repeat or because it has changed, replaces itself.
        upsert = (
            "INSERT INTO pages (url, title) VALUES (?, ?) ON CONFLICT DO UPDATE SET title = excluded.title RETURNING id"
        )
        (number,) = index.execute(upsert, (document.url, document.title)).fetchone()
        text = (number, document.title or "", document.text or "")
        index.execute("INSERT OR REPLACE INTO texts (rowid, title, text) VALUES (?, ?, ?)", text)
