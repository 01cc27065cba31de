-- From schema 1: archive files that wait for object storage are listed.
CREATE TABLE spooled_warcs (
    name          text COLLATE "C" PRIMARY KEY
);
