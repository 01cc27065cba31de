-- The link graph of a crawl. Read a chunk at a time by primary key, so that a running crawl is not held up.

-- name: graph_urls
SELECT id, domain_id, fingerprint, url, via = 0, state = 6 FROM urls WHERE id > ? ORDER BY id LIMIT ?

-- name: graph_domains
SELECT id, suffix_id FROM domains WHERE id > ? ORDER BY id LIMIT ?

-- name: graph_links
SELECT url_id, targets FROM links WHERE url_id > ? ORDER BY url_id LIMIT ?
