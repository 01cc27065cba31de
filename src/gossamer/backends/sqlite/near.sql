-- name: save_signature
INSERT OR REPLACE INTO signatures (url_id, signature, near_duplicate_of, distance)
VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: forget_signature
DELETE FROM signatures WHERE url_id IN (VALUES (/*rows*/)(?)(/*rows*/))

-- name: last_segment
SELECT coalesce(max(id), 0), coalesce(max(last_seq), 0) FROM near_segments

-- name: originals_since
SELECT seq, url_id, signature FROM signatures WHERE seq > ? AND near_duplicate_of IS NULL ORDER BY seq

-- name: add_segment
INSERT INTO near_segments (id, last_seq) VALUES (?, ?)

-- name: add_bands
INSERT INTO near_bands (segment, first_band, bands, owners) VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- Of each segment the one row in which the band must be, if it is there. Crossed, so that segments come first.
-- name: rows_of_band
SELECT b.bands, b.owners
FROM near_segments g
CROSS JOIN near_bands b
    ON b.segment = g.id
    AND b.first_band = (SELECT max(c.first_band) FROM near_bands c WHERE c.segment = g.id AND c.first_band <= ?)

-- A page that became a near-duplicate, or has another text now, is found under its old bands and looked at as it is now.
-- name: original
SELECT signature FROM signatures WHERE url_id = ? AND near_duplicate_of IS NULL

-- name: bands_after
SELECT segment, first_band, bands FROM near_bands WHERE (segment, first_band) > (?, ?)
ORDER BY segment, first_band LIMIT ?
