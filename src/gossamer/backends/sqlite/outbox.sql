-- URLs that go from one worker to another.

-- name: known_elsewhere
WITH asked (fingerprint) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(e.fingerprint)) FROM asked CROSS JOIN elsewhere e USING (fingerprint)

-- name: know_elsewhere
INSERT INTO elsewhere (fingerprint) VALUES (/*rows*/)(?)(/*rows*/)

-- name: pages_of
WITH asked (id) AS (VALUES (/*rows*/)(?)(/*rows*/))
SELECT json_group_array(json_array(u.id, u.url)) FROM asked CROSS JOIN urls u USING (id)

-- name: put_out
INSERT INTO outbox (part, url, depth, hops, via, sitemap, modified, page)
VALUES (/*rows*/)(?, ?, ?, ?, ?, ?, ?, ?)(/*rows*/)

-- name: delivered
DELETE FROM outbox WHERE part = ? AND id <= ?

-- name: outbox_window
SELECT id, url, depth, hops, via, sitemap, modified, page FROM outbox WHERE part = ? AND id > ? ORDER BY id LIMIT ?

-- name: any_outgoing
SELECT EXISTS (SELECT 1 FROM outbox)

-- name: brought
INSERT OR IGNORE INTO brought (url_id, page) VALUES (/*rows*/)(?, ?)(/*rows*/)
