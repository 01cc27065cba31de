-- What the service and the crawl tell each other.

-- name: add_order
INSERT INTO orders (part, kind, body, at) VALUES (?, ?, ?, ?)

-- name: new_orders
SELECT id, kind, body FROM orders
WHERE state = 0 AND (?1 IS NULL OR part IN (SELECT value FROM json_each(?1))) ORDER BY id LIMIT ?2

-- name: answer_order
UPDATE orders SET state = ?, answer = ?, body = '' WHERE id = ? AND state = 0

-- name: order_answer
SELECT state, answer FROM orders WHERE id = ?

-- name: withdraw_order
DELETE FROM orders WHERE id = ? AND state = 0

-- name: forget_order
DELETE FROM orders WHERE id = ? AND state <> 0

-- name: forget_answered_orders
DELETE FROM orders WHERE state <> 0 AND at < ?

-- name: count_settings
INSERT INTO facts (name, value) VALUES ('settings_version', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)

-- name: set_live
INSERT INTO live (worker, status) VALUES (?, ?) ON CONFLICT (worker) DO UPDATE SET status = excluded.status

-- name: live
SELECT status FROM live ORDER BY worker

-- name: clear_live
DELETE FROM live WHERE worker = ?
