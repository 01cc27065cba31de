-- What exports read: a window of ids at a time, so that no statement takes long, however few rows are wanted.

-- name: last_id
SELECT coalesce(max(id), 0) FROM urls

-- name: fingerprint_key
SELECT value FROM facts WHERE name = 'fingerprint_key'

-- name: host_row
SELECT id FROM hosts WHERE host = ?

-- name: page_window
SELECT u.id, u.url, h.host, u.state, u.depth, u.priority, u.found_at, coalesce(f.url, b.page), u.available_at, u.reason, u.links,
       v.at, v.status, v.size, v.mime, v.digest, v.title, v.took, v.etag, v.last_modified, d.url, v.redirect_to,
       w.name, v.warc_offset, v.warc_length, n.url, s.distance, v.language, v.canonical, v.truncated
FROM urls u
JOIN hosts h ON h.id = u.host_id
LEFT JOIN visits v ON v.url_id = u.id
LEFT JOIN urls d ON d.id = v.duplicate_of
LEFT JOIN signatures s ON s.url_id = u.id
LEFT JOIN urls n ON n.id = s.near_duplicate_of
LEFT JOIN urls f ON f.id = u.found_on
LEFT JOIN brought b ON b.url_id = u.id
LEFT JOIN warc_files w ON w.id = v.warc_file
WHERE u.id > :after AND u.id <= :last AND (:host_id IS NULL OR u.host_id = :host_id)
ORDER BY u.id

-- name: link_window
SELECT l.url_id, l.targets, v.at, v.status, v.mime
FROM links l
JOIN urls u ON u.id = l.url_id
LEFT JOIN visits v ON v.url_id = l.url_id
WHERE l.url_id > :after AND l.url_id <= :last AND (:host_id IS NULL OR u.host_id = :host_id)
ORDER BY l.url_id

-- name: node_window
SELECT id, fingerprint FROM urls WHERE id > :after AND id <= :last ORDER BY id

-- name: name_window
SELECT id, url FROM urls WHERE id > :after AND id <= :last ORDER BY id

-- name: names_of
SELECT u.id, u.url FROM json_each(?) wanted CROSS JOIN urls u ON u.id = wanted.value
