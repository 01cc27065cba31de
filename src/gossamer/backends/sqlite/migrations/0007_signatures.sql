-- Near-duplicates: the signature of the text of each page that was stored (sketch.minhash), and, of a page that is almost
-- another, which one that is and in how many bytes their signatures differ. Of the last visit, as `visits`. `seq` grows
-- with every visit, so that what came since some moment is in one piece.
CREATE TABLE signatures (
    seq               INTEGER PRIMARY KEY,
    url_id            INTEGER NOT NULL,
    signature         BLOB    NOT NULL,   -- 64 bytes
    near_duplicate_of INTEGER,            -- urls.id; null: it is an original
    distance          INTEGER
);
CREATE UNIQUE INDEX signatures_url ON signatures (url_id);

-- Where originals are found: two signatures that differ in seven bytes or less share a band (sketch.bands). Bands come
-- in segments, each written once and in order, with all originals since the one before it; what came since the last
-- segment is in memory. A row may outlive the signature that it was made of: whoever follows it compares signatures.
CREATE TABLE near_segments (
    id            INTEGER PRIMARY KEY,
    last_seq      INTEGER NOT NULL
);
CREATE TABLE near_bands (
    segment       INTEGER NOT NULL,
    first_band    INTEGER NOT NULL,
    bands         BLOB    NOT NULL,       -- in order, 64 bits each; no band is in two rows of a segment
    owners        BLOB    NOT NULL,       -- urls.id of each, 64 bits each
    PRIMARY KEY (segment, first_band)
) WITHOUT ROWID;
