-- Near-duplicates: the signature of the text of each page that was stored (sketch.minhash), and, of a page that is almost
-- another, which one that is and in how many bytes their signatures differ. Of the last visit, as `visits`.
CREATE TABLE signatures (
    url_id            INTEGER PRIMARY KEY,
    signature         BLOB    NOT NULL,   -- 64 bytes
    near_duplicate_of INTEGER,            -- urls.id; null: it is an original
    distance          INTEGER
);

-- Where originals are found: those whose signatures differ from another in seven bytes or less share a band with it
-- (dedup.near). A row may outlive the signature that it was made of; whoever follows it compares signatures anyway.
CREATE TABLE near_bands (
    band          INTEGER NOT NULL,       -- its number in the lowest three bits
    url_id        INTEGER NOT NULL,
    PRIMARY KEY (band, url_id)
) WITHOUT ROWID;
