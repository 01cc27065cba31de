-- Every record that holds a document, or says that it is one we hold: `visits` knows a URL's last one only.
CREATE TABLE captures (
    warc_file      INTEGER NOT NULL,
    warc_offset    INTEGER NOT NULL,
    warc_length    INTEGER NOT NULL,
    url_id         INTEGER NOT NULL,
    revisit        INTEGER NOT NULL,     -- 1: the document itself is elsewhere
    captured_at    REAL,                 -- the date of the record; null: written by an older version
    payload_digest BLOB,                 -- SHA-1 of the body as received; null: written by an older version
    set_aside      INTEGER NOT NULL DEFAULT 0,  -- 1: found worthless by `verify --repair`, and not to be counted
    PRIMARY KEY (warc_file, warc_offset)
) WITHOUT ROWID;
INSERT INTO captures (warc_file, warc_offset, warc_length, url_id, revisit)
SELECT warc_file, warc_offset, warc_length, url_id, 0 FROM visits WHERE warc_file IS NOT NULL
ORDER BY warc_file, warc_offset;

-- Where a document was stored first, for the revisit records of its duplicates.
ALTER TABLE contents ADD COLUMN warc_file INTEGER;
ALTER TABLE contents ADD COLUMN warc_offset INTEGER;
UPDATE contents SET (warc_file, warc_offset) =
    (SELECT v.warc_file, v.warc_offset FROM visits v WHERE v.url_id = contents.url_id AND v.digest = contents.digest);
