-- What orders of an operator ask for and change. Those that read look at a window of URLs at a time.

-- name: url
SELECT reason, host_id, id, url, depth, links, links_from_others, credit, visits, changes, modified
FROM urls WHERE id = ? AND state = ?

-- name: queue_again
UPDATE urls SET state = 0, tries = 0, available_at = ?, front = ?, place = ?, priority = ?, reason = NULL WHERE id = ?

-- What is given another life is worth another request, however its host did before.
-- name: forgive_host
UPDATE hosts SET trouble = NULL WHERE id = ? AND trouble IS NOT NULL

-- name: give_up
UPDATE urls SET state = ?, available_at = NULL, reason = ? WHERE id = ?

-- name: host_id
SELECT id FROM hosts WHERE host = ?

-- name: last_id
SELECT coalesce(max(id), 0) FROM urls

-- name: excluded
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (/*reasons*/) ORDER BY u.id

-- name: excluded_of_host
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.host_id = ? AND u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (/*reasons*/) ORDER BY u.id
