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

-- name: add_band
INSERT OR IGNORE INTO near_bands (segment, band, url_id) VALUES (/*rows*/)(?, ?, ?)(/*rows*/)

-- A page that became another's near-duplicate, or has another text now, is no longer found under its old bands.
-- name: originals_by_band
SELECT s.url_id, s.signature
FROM near_segments g
JOIN near_bands b ON b.segment = g.id AND b.band = ?
JOIN signatures s ON s.url_id = b.url_id
WHERE s.near_duplicate_of IS NULL

-- name: bands_after
SELECT segment, band, url_id FROM near_bands WHERE (segment, band, url_id) > (?, ?, ?)
ORDER BY segment, band, url_id LIMIT ?
