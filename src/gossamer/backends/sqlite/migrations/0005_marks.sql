-- What a document is not: whole, vouched for, readable in its encoding, flat. Null: nothing is to be said.
ALTER TABLE visits ADD COLUMN truncated TEXT;      -- why it is a beginning only: length, time, disconnect
ALTER TABLE visits ADD COLUMN unverified INTEGER;  -- 1: over TLS, and nobody checked the certificate
ALTER TABLE visits ADD COLUMN replaced INTEGER;    -- characters that are none in the page's encoding
ALTER TABLE visits ADD COLUMN deep_links INTEGER;  -- links below more elements than a tree of ours has levels

-- Links that were too long to enter, the first few of each page: never in full.
CREATE TABLE long_links (
    url_id        INTEGER NOT NULL,      -- the page
    shown         TEXT    NOT NULL,      -- the beginning, at most 256 bytes
    digest        BLOB    NOT NULL,      -- SHA-256 of the link as written
    size          INTEGER NOT NULL,      -- bytes
    PRIMARY KEY (url_id, digest)
) WITHOUT ROWID;
