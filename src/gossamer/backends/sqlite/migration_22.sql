-- From schema 21: archive files that wait for object storage are listed, and changes that are asked for through the service
-- are rows.
CREATE TABLE spooled_warcs (
    name          TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Changes that were asked for through the service, in the order in which they came, until their answers were read.
CREATE TABLE orders (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,   -- never given again
    part          INTEGER,                             -- the partition concerned; null: the crawl has one worker
    kind          TEXT    NOT NULL,
    body          TEXT    NOT NULL,                    -- JSON
    at            REAL    NOT NULL,
    state         INTEGER NOT NULL DEFAULT 0,          -- 0: new, 1: applied, 2: refused
    answer        TEXT                                 -- JSON
);
CREATE INDEX orders_new ON orders (id) WHERE state = 0;

-- The last status of each running worker, where it is not in a file.
CREATE TABLE live (
    worker        TEXT    PRIMARY KEY,
    status        BLOB    NOT NULL                     -- observe.snapshot.Status, as JSON
) WITHOUT ROWID;
