-- The protocol by which workers share a crawl (ADR 25).

-- name: crawl_now
SELECT state, generation, rules_version, partitions, max_pages FROM crawl

-- The duration of leases.
-- name: lease_time
SELECT ttl FROM crawl

-- The same of any schema.
-- name: lease_time_of_any_schema
SELECT coalesce((to_jsonb(c) ->> 'ttl')::float8,
    (SELECT (value::jsonb -> 'cluster' ->> 'ttl')::float8 FROM facts WHERE name = 'config'), 10)
FROM crawl c

-- name: set_lease_time
UPDATE crawl SET ttl = $1

-- name: server_time
SELECT extract(epoch FROM clock_timestamp())::float8

-- Heartbeat. A commit in progress holds the row with a weaker lock and is not waited for; a death in progress is.
-- name: confirm_alive
SELECT 1 FROM fence WHERE epoch = $1 AND alive FOR KEY SHARE

-- name: beat
UPDATE workers SET beat = beat + 1, stats = $2, rules_version = $3 WHERE epoch = $1

-- name: members
SELECT f.epoch, w.name, w.beat, w.weight, w.state = 'draining', w.rules_version
FROM fence f JOIN workers w USING (epoch) WHERE f.alive

-- The same of any schema, before it is migrated.
-- name: beats
SELECT f.epoch, w.beat FROM fence f JOIN workers w USING (epoch) WHERE f.alive

-- name: living
SELECT epoch FROM fence WHERE alive

-- All lives of the workers that are alive: a worker delivers what an earlier life has left in its spool.
-- name: lives_of_living
SELECT epoch FROM workers WHERE name IN (SELECT w.name FROM fence f JOIN workers w USING (epoch) WHERE f.alive)

-- The fence: the first statement of every transaction of a worker.
-- name: pass_fence
UPDATE fence SET commits = $2::bigint + 1, stored = $3 WHERE epoch = $1 AND alive AND commits = $2

-- name: fence_state
SELECT alive, commits FROM fence WHERE epoch = $1

-- Joining and leaving.
-- name: join_fence
INSERT INTO fence (epoch) VALUES ($1) ON CONFLICT DO NOTHING

-- name: join_workers
INSERT INTO workers (epoch, name, weight, version) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING

-- The session of a command that changes the crawl while no worker is alive.
-- name: holder
SELECT application_name FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, 'gossamer writer') LIMIT 1

-- name: drain_worker
UPDATE workers SET state = 'draining' WHERE epoch = $1 AND state = 'active'

-- name: end_fence
UPDATE fence SET alive = false WHERE epoch = $1

-- name: end_worker
UPDATE workers SET state = $2 WHERE epoch = $1

-- name: drain_named
UPDATE workers SET state = 'draining' WHERE name = $1 AND state = 'active'

-- What operators see of the workers: those that are alive, or all that ever were.
-- name: list_workers
SELECT w.epoch, w.name, w.state, f.alive, w.weight, extract(epoch FROM w.joined)::float8, w.version, f.commits, f.stored,
    (SELECT count(*) FROM partitions p WHERE p.epoch = w.epoch), w.stats, extract(epoch FROM clock_timestamp())::float8
FROM workers w JOIN fence f USING (epoch) WHERE f.alive OR $1::boolean ORDER BY w.joined, w.epoch

-- The live status of the workers that are alive: one that was killed leaves its row behind.
-- name: live_of_workers
SELECT l.status FROM workers w JOIN live l ON l.worker = w.name WHERE w.state IN ('active', 'draining') ORDER BY w.name

-- Partitions that nobody owns, and earlier lives of a worker that did not end by leaving.
-- name: free_and_deaths
SELECT (SELECT count(*) FROM partitions WHERE epoch IS NULL), (SELECT count(*) FROM workers WHERE name = $1 AND state = 'dead')

-- Death. The lock waits for a commit or a heartbeat in progress.
-- name: lock_fence
SELECT 1 FROM fence WHERE epoch = $1 AND alive FOR UPDATE

-- name: beat_of
SELECT beat FROM workers WHERE epoch = $1

-- name: free_partitions_of_dead
UPDATE partitions SET epoch = NULL, released = 'dead', deaths = deaths + 1,
    free_from = now() + make_interval(secs => ($2::float8[])[least(deaths + 1, cardinality($2::float8[]))])
WHERE epoch = $1

-- Partitions.
-- name: take_partitions
UPDATE partitions SET epoch = $1
WHERE part IN (SELECT part FROM partitions WHERE epoch IS NULL AND free_from <= now()
    ORDER BY part LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING part, released

-- name: take_partitions_back
UPDATE partitions SET epoch = $1, released = CASE released WHEN 'new' THEN 'given' ELSE released END WHERE epoch = $2

-- name: owned_partitions
SELECT part, released FROM partitions WHERE epoch = $1

-- name: give_partitions
UPDATE partitions p SET epoch = NULL, released = t.released, deaths = 0, free_from = to_timestamp(0)
FROM unnest($2::smallint[], $3::text[]) t (part, released)
WHERE p.part = t.part AND p.epoch = $1

-- name: partitions_have_rested
UPDATE partitions SET released = 'given' WHERE epoch = $1 AND part = ANY($2::smallint[])

-- name: forget_deaths
UPDATE partitions SET deaths = 0 WHERE epoch = $1 AND part = ANY($2::smallint[]) AND deaths > 0

-- The inbox.
-- name: send_to_inbox
INSERT INTO inbox (part, kind, body) SELECT * FROM unnest($1::smallint[], $2::text[], $3::bytea[])

-- The version of the rules is of the same moment: it is not older than the rules under which the message was sent.
-- name: read_inbox
SELECT i.part, i.id, i.kind, i.body, (SELECT rules_version FROM crawl)
FROM unnest($1::smallint[]) p (part) CROSS JOIN LATERAL
    (SELECT part, id, kind, body FROM inbox WHERE part = p.part ORDER BY id LIMIT $2) i
LIMIT $2

-- Exactly the rows that were read: a row with a smaller id may have been committed since then.
-- name: delete_from_inbox
DELETE FROM inbox i USING unnest($1::smallint[], $2::bigint[]) t (part, id) WHERE i.part = t.part AND i.id = t.id

-- Holds of hosts. The message and the host's date are of one moment.
-- name: ask_for_hold
INSERT INTO inbox (part, kind, body) VALUES ($1, 'hold', $2)
RETURNING id, (SELECT next_contact FROM hosts WHERE host = convert_from($2, 'UTF8'))

-- name: hold_state
SELECT EXISTS (SELECT 1 FROM inbox WHERE part = $1 AND id = $2), (SELECT next_contact FROM hosts WHERE host = $3)

-- name: hold_host
UPDATE hosts SET next_contact = greatest(next_contact, $2) WHERE host = $1

-- Not if the hold is over and the host was contacted since.
-- name: end_hold
UPDATE hosts SET next_contact = $3 WHERE host = $1 AND next_contact = $2

-- Addresses. One is taken from its holder only if that is known to be dead, which is final. A holder without a row in `fence`
-- has joined since this statement began: it sees the latest version of a row for which it had to wait, and everything else as of
-- its beginning.
-- name: take_gates
INSERT INTO gates (address, epoch) SELECT address, $1 FROM unnest($2::text[]) address
ON CONFLICT (address) DO UPDATE SET
    released = CASE WHEN gates.epoch IS NULL OR gates.epoch = $1 THEN gates.released ELSE 'dead' END,
    epoch = $1, wanted = false
WHERE gates.epoch IS NULL OR gates.epoch = $1
    OR EXISTS (SELECT 1 FROM fence f WHERE f.epoch = gates.epoch AND NOT f.alive)
RETURNING address, released, rest

-- name: want_gates
UPDATE gates SET wanted = true WHERE address = ANY($2::text[]) AND epoch <> $1 AND NOT wanted

-- name: wanted_gates
SELECT address FROM gates WHERE epoch = $1 AND wanted

-- name: release_gates
UPDATE gates g SET epoch = NULL, wanted = false, released = 'given', rest = t.rest, released_at = now()
FROM unnest($2::text[], $3::float8[]) t (address, rest)
WHERE g.address = t.address AND g.epoch = $1

-- name: take_gates_back
UPDATE gates SET epoch = $1, wanted = false, released = CASE released WHEN 'new' THEN 'given' ELSE released END
WHERE epoch = $2

-- name: held_gates
SELECT address, released, rest FROM gates WHERE epoch = $1

-- Addresses that no worker has held for this time after their rest, which is longer than any step of the server's clock. Some at a time;
-- one that is being taken is left alone.
-- name: forget_gates
DELETE FROM gates WHERE address IN (SELECT address FROM gates
    WHERE epoch IS NULL AND released_at < now() - make_interval(secs => rest + $1) LIMIT 10000 FOR UPDATE SKIP LOCKED)

-- Pages that workers may store.
-- name: lock_crawl
SELECT state, max_pages FROM crawl FOR UPDATE

-- name: pages_spoken_for
SELECT coalesce(sum(CASE WHEN alive THEN greatest(granted, stored) ELSE stored END), 0)::bigint,
    count(*) FILTER (WHERE alive) FROM fence

-- name: set_grant
UPDATE fence SET granted = $2 WHERE epoch = $1

-- name: count_stored
UPDATE fence SET stored = stored + $1 WHERE epoch = /*epoch*/

-- name: start_run
UPDATE crawl SET state = 'running', max_pages = $1, due_by = $2, rules_version = rules_version + 1

-- Steering. A new version of the rules makes every worker read them, the settings and the seeds, with its next heartbeat.
-- name: tell_workers
UPDATE crawl SET rules_version = rules_version + 1

-- name: rules_version
SELECT rules_version FROM crawl

-- Of URLs that were sent to the inbox of another partition, those that are known there.
-- name: known_to_owners
SELECT u.url FROM (/*rows host text, fingerprint bigint*/) sent
JOIN hosts h ON h.host = sent.host JOIN urls u ON u.domain_id = h.domain_id AND u.fingerprint = sent.fingerprint

-- name: change_page_limit
UPDATE crawl SET max_pages = $1, rules_version = rules_version + 1

-- name: stop_crawl
UPDATE crawl SET state = 'stopped' WHERE state = 'running'

-- A service runs, and says so again and again.
-- name: keep_open
UPDATE crawl SET kept_open_until = greatest(kept_open_until, now() + make_interval(secs => $1))

-- The end. The lock comes first, in a statement of its own, so that this one sees everything that was added under it. While
-- refused links are looked at again (`admission`), more URLs may come; also while an order is new, or a worker has not applied
-- the rules on record with all that follows from them. The worker that asks gives its epoch and its version: its row
-- may be behind.
-- name: finish_crawl
UPDATE crawl SET state = 'finished'
WHERE state = 'running' AND kept_open_until <= now() AND NOT EXISTS (SELECT 1 FROM queue) AND NOT EXISTS (SELECT 1 FROM inbox)
    AND NOT EXISTS (SELECT 1 FROM uncounted) AND NOT EXISTS (SELECT 1 FROM due WHERE at <= crawl.due_by)
    AND NOT EXISTS (SELECT 1 FROM facts WHERE name = 'admission' AND jsonb_array_length(value::jsonb -> 'reasons') > 0)
    AND NOT EXISTS (SELECT 1 FROM orders WHERE state = 0)
    AND NOT EXISTS (SELECT 1 FROM fence f JOIN workers w USING (epoch)
        WHERE f.alive AND CASE f.epoch WHEN $1 THEN $2 ELSE w.rules_version END < crawl.rules_version)

-- name: reach_page_limit
UPDATE crawl SET state = 'page_limit'
WHERE state = 'running' AND kept_open_until <= now() AND (SELECT sum(stored) FROM fence) >= max_pages

-- What other workers have counted, those that are gone included.
-- name: counters_of_others
SELECT name, sum(value)::bigint FROM counters WHERE epoch <> /*epoch*/ GROUP BY name

-- In a transaction that queues URLs because of an order or of other rules, so that the crawl does not end meanwhile.
-- name: share_crawl
SELECT state FROM crawl FOR SHARE

-- Lost history: all workers end, and everything they had is free.
-- name: raise_generation
UPDATE crawl SET generation = generation + 1 WHERE generation = $1

-- name: end_all_fences
UPDATE fence SET alive = false WHERE alive

-- name: end_all_workers
UPDATE workers SET state = 'dead' WHERE state IN ('active', 'draining')

-- name: free_all_partitions
UPDATE partitions SET epoch = NULL, released = 'lost', free_from = to_timestamp(0)

-- name: free_all_gates
UPDATE gates SET epoch = NULL, released = 'lost', wanted = false
