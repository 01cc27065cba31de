-- From schema 21: archive files that wait for object storage are listed.
CREATE TABLE spooled_warcs (
    name          TEXT PRIMARY KEY
) WITHOUT ROWID;
