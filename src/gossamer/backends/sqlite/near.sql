-- name: save_signature
INSERT OR REPLACE INTO signatures (url_id, signature, near_duplicate_of, distance)
VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: forget_signature
DELETE FROM signatures WHERE url_id IN (VALUES (/*rows*/)(?)(/*rows*/))

-- name: last_segment
SELECT max(coalesce(max(id), 0), coalesce((SELECT max(segment) FROM near_bands), 0)), coalesce(max(last_seq), 0)
FROM near_segments

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

-- name: segments
SELECT id, last_seq FROM near_segments ORDER BY last_seq

-- In the order of the index of URLs: the sign keeps SQLite from sorting all of the range.
-- name: originals_between
SELECT url_id, seq FROM signatures
WHERE url_id > ? AND +seq > ? AND +seq <= ? AND near_duplicate_of IS NULL ORDER BY url_id LIMIT ?

-- name: rows_from
SELECT first_band, bands, owners FROM near_bands WHERE segment = ? AND first_band >= ?
ORDER BY first_band LIMIT ?

-- name: drop_segment
DELETE FROM near_segments WHERE id = ?

-- Segment by segment, without a look at their rows.
-- name: unlisted
WITH RECURSIVE there (segment) AS (
    SELECT min(segment) FROM near_bands
    UNION ALL
    SELECT (SELECT min(b.segment) FROM near_bands b WHERE b.segment > there.segment)
    FROM there WHERE there.segment IS NOT NULL
)
SELECT segment FROM there WHERE segment IS NOT NULL AND segment NOT IN (SELECT id FROM near_segments)

-- name: row_of_segment
SELECT first_band FROM near_bands WHERE segment = ? ORDER BY first_band LIMIT 1 OFFSET ?

-- name: sweep_some
DELETE FROM near_bands WHERE segment = ? AND first_band < ?

-- name: sweep_all
DELETE FROM near_bands WHERE segment = ?
