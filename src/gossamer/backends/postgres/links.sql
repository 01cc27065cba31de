-- Links between pages: a window of ids or a chunk of rows at a time, by primary key, so that no statement takes long
-- and a running crawl is not held up.

-- name: link_window
SELECT l.url_id, l.targets, v.at, v.status, v.mime
FROM links l
JOIN urls u ON u.id = l.url_id
LEFT JOIN visits v ON v.url_id = l.url_id
WHERE l.url_id > $1 AND l.url_id <= $2 AND ($3::bigint IS NULL OR u.host_id = $3)
ORDER BY l.url_id

-- name: node_window
SELECT id, fingerprint FROM urls WHERE id > $1 AND id <= $2 ORDER BY id

-- name: name_window
SELECT id, url FROM urls WHERE id > $1 AND id <= $2 ORDER BY id

-- name: names_of
SELECT u.id, u.url FROM unnest($1::bigint[]) AS wanted (id) JOIN urls u ON u.id = wanted.id

-- name: graph_urls
SELECT id, domain_id, fingerprint, url, via = 0, state = 6 FROM urls WHERE id > $1 ORDER BY id LIMIT $2

-- A suffix that has no name is known by its number.
-- name: graph_domains
SELECT d.id, coalesce(s.suffix, '#' || d.suffix_id)
FROM domains d LEFT JOIN suffixes s ON s.id = d.suffix_id WHERE d.id > $1 ORDER BY d.id LIMIT $2

-- name: graph_links
SELECT url_id, targets FROM links WHERE url_id > $1 ORDER BY url_id LIMIT $2
