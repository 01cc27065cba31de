-- What the service and the crawl tell each other.

-- name: add_order
INSERT INTO orders (part, kind, body, at) VALUES ($1, $2, $3, $4) RETURNING id

-- name: new_orders
SELECT id, kind, body FROM orders
WHERE state = 0 AND ($1::integer[] IS NULL OR part = ANY ($1::integer[])) ORDER BY id LIMIT $2

-- name: answer_order
UPDATE orders SET state = $1, answer = $2, body = '' WHERE id = $3 AND state = 0

-- name: order_answer
SELECT state, answer FROM orders WHERE id = $1

-- name: withdraw_order
DELETE FROM orders WHERE id = $1 AND state = 0

-- name: forget_order
DELETE FROM orders WHERE id = $1 AND state <> 0

-- name: forget_answered_orders
DELETE FROM orders WHERE state <> 0 AND at < $1

-- Workers learn of it with their next heartbeat.
-- name: count_settings
WITH told AS (UPDATE crawl SET rules_version = rules_version + 1)
INSERT INTO facts (name, value) VALUES ('settings_version', '1')
ON CONFLICT (name) DO UPDATE SET value = (facts.value::bigint + 1)::text

-- name: set_live
INSERT INTO live (worker, status) VALUES ($1, $2) ON CONFLICT (worker) DO UPDATE SET status = excluded.status

-- name: live
SELECT status FROM live ORDER BY worker

-- name: clear_live
DELETE FROM live WHERE worker = $1
