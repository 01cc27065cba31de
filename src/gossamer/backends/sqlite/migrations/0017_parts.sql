-- A crawl by several workers has a database for each: its part of the domains. What a page of one part links to in
-- another is known here by its fingerprint alone, and waits in the outbox until its owner has it on record.
CREATE TABLE elsewhere (
    fingerprint   INTEGER PRIMARY KEY
);
CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,   -- in the order of discovery; never given again
    part          INTEGER NOT NULL,                    -- the owner
    url           TEXT    NOT NULL,
    depth         INTEGER NOT NULL,
    hops          INTEGER NOT NULL,
    via           INTEGER NOT NULL,
    sitemap       INTEGER NOT NULL,
    modified      REAL,
    page          TEXT                                 -- that it was found on; null for a seed
);
CREATE INDEX outbox_order ON outbox (part, id);

-- The pages of other parts that URLs of this one were found on.
CREATE TABLE brought (
    url_id        INTEGER PRIMARY KEY,
    page          TEXT    NOT NULL
);
