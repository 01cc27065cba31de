-- What exports read: a window of ids at a time, so that no statement takes long, however few rows are wanted.

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
