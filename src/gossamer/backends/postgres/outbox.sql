-- URLs that go from one worker to another.

-- name: known_elsewhere
SELECT e.fingerprint FROM (/*rows fingerprint bigint*/) asked JOIN elsewhere e ON e.fingerprint = asked.fingerprint

-- name: know_elsewhere
INSERT INTO elsewhere (fingerprint) /*rows fingerprint bigint*/

-- name: pages_of
SELECT u.id, u.url FROM (/*rows id bigint*/) asked JOIN urls u ON u.id = asked.id

-- name: put_out
INSERT INTO outbox (part, url, depth, hops, via, sitemap, modified, page)
/*rows part integer, url text, depth integer, hops integer, via smallint, sitemap integer, modified float8, page text*/

-- name: delivered
DELETE FROM outbox WHERE part = $1 AND id <= $2

-- name: outbox_window
SELECT id, url, depth, hops, via, sitemap, modified, page FROM outbox WHERE part = $1 AND id > $2 ORDER BY id LIMIT $3

-- name: any_outgoing
SELECT EXISTS (SELECT 1 FROM outbox)

-- name: brought
INSERT INTO brought (url_id, page) /*rows url_id bigint, page text*/ ON CONFLICT DO NOTHING
