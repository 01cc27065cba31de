-- name: save_signature
INSERT OR REPLACE INTO signatures (url_id, signature, near_duplicate_of, distance)
VALUES (/*rows*/)(?, ?, ?, ?)(/*rows*/)

-- name: save_band
INSERT OR IGNORE INTO near_bands (band, url_id) VALUES (/*rows*/)(?, ?)(/*rows*/)

-- name: forget_signature
DELETE FROM signatures WHERE url_id IN (VALUES (/*rows*/)(?)(/*rows*/))

-- A page that became another's near-duplicate, or has another text now, is no longer found under its old bands.
-- name: originals_by_band
SELECT s.url_id, s.signature
FROM near_bands b JOIN signatures s ON s.url_id = b.url_id
WHERE b.band = ? AND s.near_duplicate_of IS NULL

-- name: latest_originals
SELECT url_id, signature FROM signatures WHERE near_duplicate_of IS NULL ORDER BY url_id DESC LIMIT ?

-- name: bands_after
SELECT band, url_id FROM near_bands WHERE (band, url_id) > (?, ?) ORDER BY band, url_id LIMIT ?
