-- What hosts have shown in place of pages that they do not have, in text of dedup.soft: so that a restart does not make
-- them give themselves away anew.
CREATE TABLE soft_missing (
    host_id       INTEGER PRIMARY KEY,
    state         TEXT    NOT NULL
);
