-- Bulk changes of URLs. The statements that read look at a window of URLs at a time.

-- name: url_in_state
SELECT u.reason, u.host_id, /*facts*/ FROM urls u WHERE u.id = ? AND u.state = ?

-- name: queue_again
UPDATE urls SET state = 0, tries = 0, available_at = ?, front = ?, place = ?, priority = ?, reason = NULL WHERE id = ?

-- What is given another life is worth another request, however its host did before.
-- name: forgive_host
UPDATE hosts SET trouble = NULL WHERE id = ? AND trouble IS NOT NULL

-- name: give_up
UPDATE urls SET state = ?, available_at = NULL, reason = ? WHERE id = ?

-- name: excluded
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (SELECT value FROM json_each(?)) ORDER BY u.id

-- name: excluded_of_host
SELECT u.id, u.url, h.host, u.depth, u.sitemap FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.host_id = ? AND u.id > ? AND u.id <= ? AND u.state = 6 AND u.reason IN (SELECT value FROM json_each(?)) ORDER BY u.id

-- Limits: queued URLs may be excluded, excluded ones may return. A queued recrawl is left to its visit.
-- name: limited
SELECT u.id, u.url, h.host, u.depth, u.sitemap, u.state FROM urls u JOIN hosts h ON h.id = u.host_id
WHERE u.id > ?1 AND u.id <= ?2 AND ((u.state = 0 AND u.was IS NULL)
    OR (u.state = 6 AND u.reason IN (SELECT value FROM json_each(?3)))) ORDER BY u.id

-- What a rule about traps has kept out; follows the index of excluded URLs.
-- name: hosts_with_cuts
SELECT h.id, h.host FROM hosts h
WHERE EXISTS (SELECT 1 FROM urls u WHERE u.state = 6 AND u.host_id = h.id AND u.reason >= 'trap:' AND u.reason < 'trap;')

-- name: cut_urls
SELECT id FROM urls WHERE state = 6 AND host_id = ? AND reason >= 'trap:' AND reason < 'trap;' LIMIT ?

-- name: dead_ids
SELECT id FROM urls WHERE state = 7 AND id > ?1 AND (?2 IS NULL OR host_id = ?2) AND (?3 IS NULL OR reason = ?3)
    AND (?4 IS NULL OR (coalesce(reason, '') IN (SELECT value FROM json_each(?5))) = ?4)
ORDER BY id LIMIT ?6
