-- What is asked when a rule about traps is lifted. Follows the index of excluded URLs.

-- name: hosts_with_cuts
SELECT h.id, h.host FROM hosts h
WHERE EXISTS (SELECT 1 FROM urls u WHERE u.state = 6 AND u.host_id = h.id AND u.reason >= 'trap:' AND u.reason < 'trap;')

-- name: cut_urls
SELECT id, url, depth, links, links_from_others, credit, visits, changes FROM urls
WHERE state = 6 AND host_id = ? AND reason >= 'trap:' AND reason < 'trap;' LIMIT ?

-- name: queue_again
UPDATE urls SET state = 0, available_at = ?, front = ?, place = ?, priority = ?, reason = NULL WHERE id = ?

-- name: enter_front
INSERT INTO fronts (host_id, front, place) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET place = min(place, excluded.place)

-- name: count
INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value
