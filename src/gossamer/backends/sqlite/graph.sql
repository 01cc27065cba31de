-- The link graph of a crawl. Read a chunk at a time by primary key, so that a running crawl is not held up.

-- name: graph_urls
SELECT id, domain_id, fingerprint, url, via = 0, state = 6 FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- A suffix that has no name is known by its number.
-- name: graph_domains
SELECT d.id, coalesce(s.suffix, '#' || d.suffix_id)
FROM domains d LEFT JOIN suffixes s ON s.id = d.suffix_id WHERE d.id > ? ORDER BY d.id LIMIT ?

-- name: graph_links
SELECT url_id, targets FROM links WHERE url_id > ? ORDER BY url_id LIMIT ?
