-- Every statement of the crawl's hot path, by name (`statements.py` reads them).
-- /*rows a bigint, b text*/ stands for many rows of values with these columns, which travel as one array for each; the
-- parameters after them have the next numbers. /*parts*/ stands for a list of the partitions of this worker, one parameter
-- after all others, and /*epoch*/ for its number, another one after that. A window over many partitions asks each of them and
-- merges the answers.
-- Statements that move URLs return in `moved` what they were and what they are (/*moved*/), and /*follow*/ keeps the tables of
-- those that are queued, due, dead or excluded. Values that occur twice among the rows are merged first: PostgreSQL changes
-- a row once in a statement. A query that is asked for several rows of values at once returns the number of the row first.

-- name: host_by_name
SELECT new.row_number, h.id, h.domain_id FROM (/*rows host text*/) new JOIN hosts h ON h.host = new.host

-- name: domain_by_name
SELECT new.row_number, d.id FROM (/*rows domain text*/) new JOIN domains d ON d.domain = new.domain

-- name: add_domain
INSERT INTO domains (id, domain, suffix_id)
SELECT coalesce((SELECT max(d.id) FROM domains d WHERE d.id >= new.part << 40 AND d.id < (new.part + 1) << 40), new.part << 40)
    + row_number() OVER (PARTITION BY new.part ORDER BY new.row_number), new.domain, new.suffix_id
FROM (/*rows domain text, part bigint, suffix_id bigint*/) new

-- name: suffix_by_name
SELECT id FROM suffixes WHERE suffix = $1

-- name: add_suffix
INSERT INTO suffixes (suffix) VALUES ($1) ON CONFLICT (suffix) DO UPDATE SET suffix = excluded.suffix RETURNING id

-- name: suffix_visits
SELECT suffix_id, sum(visits)::bigint FROM suffix_visits GROUP BY suffix_id

-- Each with the number of hosts of its domain that are in rows before it.
-- name: add_host
INSERT INTO hosts (id, host, domain_id, number)
SELECT coalesce((SELECT max(h.id) FROM hosts h WHERE h.id >= new.domain_id >> 40 << 40
        AND h.id < ((new.domain_id >> 40) + 1) << 40), new.domain_id >> 40 << 40)
    + row_number() OVER (PARTITION BY new.domain_id >> 40 ORDER BY new.row_number), new.host, d.id, d.hosts + new.ahead
FROM (/*rows host text, ahead integer, domain_id bigint*/) new JOIN domains d ON d.id = new.domain_id

-- name: count_host
UPDATE domains SET hosts = domains.hosts + new.hosts FROM (/*rows hosts integer, id bigint*/) new WHERE domains.id = new.id

-- name: last_url
SELECT coalesce(max(id), 0) FROM urls

-- name: last_url_between
SELECT max(id) FROM urls WHERE id > $1 AND id < $2

-- The end of a window of some URLs after an id. Ids have gaps between partitions.
-- name: window_end
SELECT coalesce((SELECT id FROM urls WHERE id > $1 ORDER BY id OFFSET $2 - 1 LIMIT 1), 9223372036854775807)

-- name: add_url
WITH new AS (/*rows id bigint, host_id bigint, domain_id bigint, fingerprint bigint, url text, front smallint, available_at float8,
    place float8, priority float8, depth integer, hops integer, via smallint, found_on bigint, found_at float8,
    sitemap integer, modified float8, steps integer, ordinal integer*/),
added AS (
    INSERT INTO urls (id, host_id, domain_id, fingerprint, url, state, front, available_at, place, priority, depth, tries, hops,
        via, found_on, found_at, sitemap, modified, steps, ordinal)
    SELECT id, host_id, domain_id, fingerprint, url, 0, front, available_at, place, priority, depth, 0, hops,
        via, found_on, found_at, sitemap, modified, steps, ordinal
    FROM new ON CONFLICT (domain_id, fingerprint) DO NOTHING
    RETURNING host_id, front, place, id
)
INSERT INTO queue (host_id, front, place, url_id) SELECT host_id, front, place, id FROM added

-- name: newest_place
SELECT coalesce(max(f.place), 0) FROM unnest(/*parts*/) p
CROSS JOIN LATERAL generate_series($1::bigint, (SELECT coalesce(max(front), -1) FROM fronts WHERE part = p)) AS n
CROSS JOIN LATERAL
    (SELECT place FROM fronts WHERE part = p AND front = n AND place <= $2 ORDER BY place DESC LIMIT 1) f

-- name: enter_front
INSERT INTO fronts (host_id, front, place)
SELECT host_id, front, min(place) FROM (/*rows host_id bigint, front smallint, place float8*/) new
GROUP BY host_id, front
ON CONFLICT (host_id, front) DO UPDATE SET place = excluded.place WHERE excluded.place < fronts.place

-- name: front_truth
SELECT new.row_number, q.front, min(q.place) FROM (/*rows host_id bigint*/) new JOIN queue q ON q.host_id = new.host_id
GROUP BY new.row_number, q.front

-- name: leave_fronts
DELETE FROM fronts USING (/*rows host_id bigint*/) old WHERE fronts.host_id = old.host_id

-- name: settle_url
WITH new AS (/*rows state smallint, available_at float8, front smallint, place float8, tries integer, reason text, answered integer,
    digest bytea, planned float8, one float8, two float8, last_modified float8, id bigint*/),
moved AS (
    UPDATE urls u SET state = new.state, available_at = new.available_at, front = coalesce(new.front, o.front),
        place = coalesce(new.place, o.place), tries = new.tries, reason = new.reason,
        memory_one = coalesce(new.one, o.memory_one), memory_two = coalesce(new.two, o.memory_two),
        was = CASE WHEN new.state = 0 THEN o.was END, planned = CASE WHEN new.state = 0 THEN o.planned ELSE new.planned END,
        visits = o.visits + new.answered, last_modified = coalesce(new.last_modified, o.last_modified),
        changes = o.changes + CASE WHEN new.digest IS NULL OR o.visits = 0 THEN 0 ELSE
            coalesce((SELECT (v.digest <> new.digest)::integer FROM visits v WHERE v.url_id = o.id), 0) END
    FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- New URLs of hosts.
-- name: count_new
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT host_id, sum(known), sum(queued), 0, 0, 0 FROM (/*rows host_id bigint, known bigint, queued bigint*/) new GROUP BY host_id
ON CONFLICT (host_id) DO UPDATE SET known = host_counts.known + excluded.known, queued = host_counts.queued + excluded.queued

-- name: host_counts_of
SELECT c.host_id, c.known, c.answered FROM (/*rows host_id bigint*/) new JOIN host_counts c ON c.host_id = new.host_id

-- URLs that are about to go to other states.
-- name: count_moves
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT u.host_id, 0, sum((new.state = 0)::integer - (u.state = 0)::integer),
    sum((new.state = 1)::integer - (u.state = 1)::integer), sum((new.answered AND u.visits = 0)::integer),
    sum((new.state = 6)::integer - (u.state = 6)::integer)
FROM (/*rows state smallint, answered boolean, id bigint*/) new JOIN urls u ON u.id = new.id GROUP BY u.host_id
ON CONFLICT (host_id) DO UPDATE SET queued = host_counts.queued + excluded.queued, stored = host_counts.stored + excluded.stored,
    answered = host_counts.answered + excluded.answered, excluded = host_counts.excluded + excluded.excluded

-- name: count_hosts
INSERT INTO host_counts (host_id, known, queued, stored, answered, excluded)
SELECT host_id, count(*), count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
    count(*) FILTER (WHERE visits > 0), count(*) FILTER (WHERE state = 6)
FROM urls GROUP BY host_id
ON CONFLICT (host_id) DO UPDATE SET known = excluded.known, queued = excluded.queued, stored = excluded.stored,
    answered = excluded.answered, excluded = excluded.excluded

-- name: fronts_of
SELECT u.id, u.front FROM (/*rows id bigint*/) new JOIN urls u ON u.id = new.id

-- name: due_missing
SELECT /*facts*/, u.host_id, u.state, u.available_at FROM (
    SELECT d.at, d.url_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at, url_id FROM due WHERE part = p AND missing AND at <= $1 ORDER BY at LIMIT $2) d
    ORDER BY d.at, d.url_id LIMIT $2) next
JOIN urls u ON u.id = next.url_id ORDER BY next.at, next.url_id

-- name: forget_memories
UPDATE urls SET memory_one = NULL, memory_two = NULL WHERE memory_one IS NOT NULL OR memory_two IS NOT NULL

-- name: due_again
SELECT /*facts*/, u.host_id, u.state, u.available_at FROM (
    SELECT d.at, d.state, d.url_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at, state, url_id FROM due WHERE part = p AND NOT missing AND at <= $1 ORDER BY at, state, url_id LIMIT $2) d
    ORDER BY d.at, d.state, d.url_id LIMIT $2) next
JOIN urls u ON u.id = next.url_id ORDER BY next.at, next.state, next.url_id

-- name: due_after
SELECT /*facts*/, u.host_id, u.state, u.available_at FROM (
    SELECT d.at, d.state, d.url_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at, state, url_id FROM due
         WHERE part = p AND NOT missing AND (at, state, url_id) > ($1::float8, $2::smallint, $3::bigint) AND at <= $4
         ORDER BY at, state, url_id LIMIT $5) d
    ORDER BY d.at, d.state, d.url_id LIMIT $5) next
JOIN urls u ON u.id = next.url_id ORDER BY next.at, next.state, next.url_id

-- name: due_early
SELECT /*facts*/, u.host_id, u.state, u.available_at, u.planned FROM (
    SELECT d.at, d.state, d.url_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
        (SELECT at, state, url_id FROM due WHERE part = p AND NOT missing AND at > $1 ORDER BY at, state, url_id LIMIT $2) d
    ORDER BY d.at, d.state, d.url_id LIMIT $2) next
JOIN urls u ON u.id = next.url_id ORDER BY next.at, next.state, next.url_id

-- What decides whether a URL is put off.
-- name: due_there
SELECT u.id, u.host_id, h.host, u.url, u.state, v.mime, v.at, u.planned, u.memory_one,
    u.memory_two, u.modified, n.changefreq, u.sitemap, h.changing
FROM (/*rows id bigint*/) new JOIN urls u ON u.id = new.id JOIN hosts h ON h.id = u.host_id
    LEFT JOIN visits v ON v.url_id = u.id LEFT JOIN hints n ON n.url_id = u.id

-- name: postpone
WITH new AS (/*rows available_at float8, planned float8, id bigint*/),
moved AS (
    UPDATE urls u SET available_at = new.available_at, planned = coalesce(new.planned, o.planned)
    FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- name: next_again
SELECT min(d.at) FROM unnest(/*parts*/) p CROSS JOIN LATERAL
    (SELECT at FROM due WHERE part = p AND NOT missing ORDER BY at LIMIT 1) d

-- name: next_missing
SELECT min(d.at) FROM unnest(/*parts*/) p CROSS JOIN LATERAL
    (SELECT at FROM due WHERE part = p AND missing ORDER BY at LIMIT 1) d

-- name: ask_again
WITH new AS (/*rows front smallint, place float8, available_at float8, priority float8, id bigint*/),
moved AS (
    UPDATE urls u SET was = o.state, state = 0, front = new.front, place = new.place, available_at = new.available_at,
        priority = new.priority
    FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- What is compared with the next visit.
-- name: before
SELECT u.id, u.visits, u.changes, coalesce(u.was, u.state), u.reason, v.at, v.digest, v.mime, v.etag, v.last_modified,
    v.redirect_to, v.truncated IS NULL, s.signature, u.planned, u.memory_one,
    u.memory_two
FROM unnest($1::bigint[]) AS wanted (id) JOIN urls u ON u.id = wanted.id JOIN visits v ON v.url_id = u.id
LEFT JOIN signatures s ON s.url_id = u.id

-- Nothing has changed: what is on record stays.
-- name: keep_visit
UPDATE visits SET at = new.at, took = new.took, etag = coalesce(new.etag, visits.etag),
    last_modified = coalesce(new.last_modified, visits.last_modified)
FROM (/*rows at float8, took float8, etag text, last_modified text, url_id bigint*/) new WHERE visits.url_id = new.url_id

-- A try that brought nothing: what is on record of a document stays.
-- name: record_try
INSERT INTO visits
    (url_id, at, status, size, took, mime, digest, title, etag, last_modified, duplicate_of, redirect_to,
     truncated, unverified, replaced, deep_links, language, canonical, refused, warc_file, warc_offset, warc_length)
/*rows url_id bigint, at float8, status integer, size bigint, took float8, mime text, digest bytea, title text, etag text,
    last_modified text, duplicate_of bigint, redirect_to text, truncated text, unverified integer, replaced integer,
    deep_links integer, language text, canonical text, refused integer, warc_file integer, warc_offset bigint,
    warc_length bigint*/
ON CONFLICT (url_id) DO UPDATE SET at = excluded.at, status = excluded.status, size = excluded.size, took = excluded.took,
    mime = excluded.mime, redirect_to = excluded.redirect_to, unverified = excluded.unverified
WHERE visits.digest IS NULL

-- name: save_changing
UPDATE hosts SET changing = new.changing FROM (/*rows changing text, id bigint*/) new WHERE hosts.id = new.id

-- name: links_of
SELECT l.url_id, encode(l.targets, 'hex') FROM (/*rows id bigint*/) new JOIN links l ON l.url_id = new.id

-- name: save_links
INSERT INTO links (url_id, targets)
SELECT DISTINCT ON (url_id) url_id, targets FROM (/*rows url_id bigint, targets bytea*/) new ORDER BY url_id, row_number DESC
ON CONFLICT (url_id) DO UPDATE SET targets = excluded.targets

-- name: put_off
INSERT INTO uncounted (part, targets, pages) /*rows part smallint, targets bigint, pages bytea*/

-- name: uncounted_targets
SELECT coalesce(sum(targets), 0)::bigint FROM uncounted WHERE part = ANY(/*parts*/)

-- name: any_uncounted
SELECT 1 FROM uncounted WHERE part = ANY(/*parts*/) LIMIT 1

-- name: uncounted_pages
SELECT pages FROM uncounted WHERE part = ANY(/*parts*/) ORDER BY id

-- name: all_counted
DELETE FROM uncounted WHERE part = ANY(/*parts*/)

-- Pages whose links are counted, or on which URLs were found.
-- name: sources_of
SELECT u.id, u.fingerprint, u.host_id, u.domain_id, u.steps, u.credit
FROM (/*rows id bigint*/) new JOIN urls u ON u.id = new.id

-- The steps are the least that links from one host give, as far as that is the target's own: a link from any other enters
-- the host. They stay when the page has been visited, so that what is found on it does not depend on later links.
-- name: count_links
UPDATE urls SET links = urls.links + new.links, links_from_others = urls.links_from_others + new.links_from_others,
    credit = urls.credit + new.credit, link_sum = urls.link_sum + new.link_sum,
    steps = CASE WHEN new.links = 0 OR urls.visits > 0 THEN urls.steps
        WHEN urls.host_id = new.host_id THEN least(urls.steps, new.steps) ELSE 0 END
FROM (/*rows domain_id bigint, fingerprint bigint, links integer, links_from_others integer, credit bigint, link_sum bigint,
    host_id bigint, steps integer*/) new
WHERE urls.domain_id = new.domain_id AND urls.fingerprint = new.fingerprint

-- name: count_domain_links
UPDATE domains SET links = domains.links + new.links, links_from_others = domains.links_from_others + new.links_from_others
FROM (/*rows id bigint, links bigint, links_from_others bigint*/) new WHERE domains.id = new.id

-- name: waiting_of
SELECT /*facts*/, u.host_id, u.front, u.place, u.priority
FROM (/*rows domain_id bigint, fingerprint bigint*/) new
JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
WHERE u.state = 0 AND u.front >= $3 AND u.place <= $4

-- Those whose links have reached a power of two: one lies between the counts before and after if more bits differ between
-- them than the one before has. A first link was foreseen when the URL entered.
-- name: grown_of
SELECT /*facts*/, u.host_id, u.front
FROM (/*rows domain_id bigint, fingerprint bigint, links integer*/) new
JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
WHERE u.state = 0 AND u.links > 1 AND u.front > 0 AND u.place <= $4
    AND (u.links | (u.links - new.links)) - (u.links & (u.links - new.links)) > u.links - new.links

-- name: place_of
SELECT place FROM urls WHERE id = $1

-- name: move_url
WITH new AS (/*rows front smallint, place float8, priority float8, id bigint*/),
moved AS (
    UPDATE urls u SET front = new.front, place = new.place, priority = new.priority
    FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- name: join_front
WITH new AS (/*rows front smallint, place float8, priority float8, id bigint*/),
moved AS (
    UPDATE urls u SET front = new.front, place = new.place, available_at = new.place, priority = new.priority
    FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- name: queued_after
SELECT /*facts*/, u.front, u.place, u.priority, u.available_at
FROM urls u WHERE u.id > $1 AND u.state = 0 AND (u.id >> 40)::integer = ANY(/*parts*/) ORDER BY u.id LIMIT $2

-- name: hosts_of
SELECT u.id, u.host_id FROM (/*rows id bigint*/) new JOIN urls u ON u.id = new.id

-- name: without_row
SELECT new.id FROM (/*rows id bigint*/) new WHERE NOT EXISTS (SELECT 1 FROM urls u WHERE u.id = new.id)

-- name: count_queued
SELECT count(*) FROM queue

-- name: clear_fronts
DELETE FROM fronts

-- name: rebuild_fronts
INSERT INTO fronts (host_id, front, place) SELECT host_id, front, min(place) FROM queue GROUP BY host_id, front

-- name: record_visit
INSERT INTO visits
    (url_id, at, status, size, took, mime, digest, title, etag, last_modified, duplicate_of, redirect_to,
     truncated, unverified, replaced, deep_links, language, canonical, refused, warc_file, warc_offset, warc_length)
/*rows url_id bigint, at float8, status integer, size bigint, took float8, mime text, digest bytea, title text, etag text,
    last_modified text, duplicate_of bigint, redirect_to text, truncated text, unverified integer, replaced integer,
    deep_links integer, language text, canonical text, refused integer, warc_file integer, warc_offset bigint,
    warc_length bigint*/
ON CONFLICT (url_id) DO UPDATE SET at = excluded.at, status = excluded.status, size = excluded.size, took = excluded.took,
    mime = excluded.mime, digest = excluded.digest, title = excluded.title, etag = excluded.etag,
    last_modified = excluded.last_modified, duplicate_of = excluded.duplicate_of, redirect_to = excluded.redirect_to,
    truncated = excluded.truncated, unverified = excluded.unverified, replaced = excluded.replaced,
    deep_links = excluded.deep_links, language = excluded.language, canonical = excluded.canonical,
    refused = excluded.refused, warc_file = excluded.warc_file, warc_offset = excluded.warc_offset,
    warc_length = excluded.warc_length

-- Of a page that was read again; nothing if it was visited meanwhile.
-- name: save_refused
UPDATE visits SET refused = new.refused FROM (/*rows refused integer, url_id bigint, warc_offset bigint*/) new
WHERE visits.url_id = new.url_id AND visits.warc_offset = new.warc_offset

-- name: record_long_link
INSERT INTO long_links (url_id, shown, digest, size) /*rows url_id bigint, shown text, digest bytea, size bigint*/
ON CONFLICT DO NOTHING

-- name: record_failure
INSERT INTO failures (url_id, at, reason, status, detail)
/*rows url_id bigint, at float8, reason text, status integer, detail text*/

-- name: record_capture
INSERT INTO captures (warc_file, warc_offset, warc_length, url_id, revisit, captured_at, payload_digest)
/*rows warc_file integer, warc_offset bigint, warc_length bigint, url_id bigint, revisit smallint, captured_at float8,
    payload_digest bytea*/

-- name: own_content
INSERT INTO contents (digest, url_id, warc_file, warc_offset)
/*rows digest bytea, url_id bigint, warc_file integer, warc_offset bigint*/
ON CONFLICT DO NOTHING

-- name: original_of_content
SELECT u.url, c.captured_at, c.payload_digest
FROM contents k
JOIN captures c ON c.warc_file = k.warc_file AND c.warc_offset = k.warc_offset
JOIN urls u ON u.id = c.url_id
WHERE k.digest = $1 AND c.revisit = 0 AND c.captured_at IS NOT NULL

-- A page that was last captured whole is its own original; one that was a duplicate has its content's.
-- name: original_of_url
SELECT u.url, c.captured_at, c.payload_digest
FROM visits v
LEFT JOIN captures own ON own.warc_file = v.warc_file AND own.warc_offset = v.warc_offset AND own.revisit = 0
LEFT JOIN contents k ON k.digest = v.digest
JOIN captures c ON c.warc_file = coalesce(own.warc_file, k.warc_file)
    AND c.warc_offset = coalesce(own.warc_offset, k.warc_offset)
JOIN urls u ON u.id = c.url_id
WHERE v.url_id = $1 AND c.revisit = 0 AND c.captured_at IS NOT NULL

-- name: content_owner
SELECT new.row_number, c.url_id FROM (/*rows digest bytea*/) new JOIN contents c ON c.digest = new.digest

-- name: set_host_clock
UPDATE hosts SET next_contact = new.next_contact, last_took = new.last_took, address = new.address,
    rest_reason = new.rest_reason, resolved = coalesce(new.resolved, hosts.resolved),
    trouble = nullif(coalesce(new.trouble, hosts.trouble), '')
FROM (/*rows next_contact float8, last_took float8, address text, rest_reason text, resolved text, trouble text, id bigint*/) new
WHERE hosts.id = new.id

-- name: rest_host
UPDATE hosts SET
    rest_reason = CASE WHEN new.until > next_contact THEN 'failures, or rules out of reach' ELSE rest_reason END,
    next_contact = greatest(next_contact, new.until)
FROM (/*rows until float8, id bigint*/) new WHERE hosts.id = new.id

-- name: count_accesses
UPDATE domains SET accesses = domains.accesses + new.accesses FROM (/*rows accesses bigint, id bigint*/) new
WHERE domains.id = new.id

-- name: count_suffix_visits
INSERT INTO suffix_visits (suffix_id, epoch, visits)
SELECT d.suffix_id, /*epoch*/, sum(new.visits) FROM (/*rows visits bigint, id bigint*/) new
    JOIN domains d ON d.id = new.id WHERE d.suffix_id > 0 GROUP BY d.suffix_id
ON CONFLICT (suffix_id, epoch) DO UPDATE SET visits = suffix_visits.visits + excluded.visits

-- name: save_robots
INSERT INTO robots (origin, host_id, status, fetched_at, expires_at, body, unreachable_since)
SELECT DISTINCT ON (origin) origin, host_id, status, fetched_at, expires_at, body, unreachable_since
FROM (/*rows origin text, host_id bigint, status integer, fetched_at float8, expires_at float8, body bytea,
    unreachable_since float8*/) new ORDER BY origin, row_number DESC
ON CONFLICT (origin) DO UPDATE SET expires_at = excluded.expires_at, unreachable_since = excluded.unreachable_since,
    status = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.status ELSE robots.status END,
    fetched_at = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.fetched_at ELSE robots.fetched_at END,
    body = CASE WHEN excluded.unreachable_since IS NULL THEN excluded.body ELSE robots.body END

-- name: save_guess
UPDATE robots SET guessed_at = new.guessed_at, guess = new.guess FROM (/*rows guessed_at float8, guess text, origin text*/) new
WHERE robots.origin = new.origin

-- name: save_budget
INSERT INTO budgets (host_id, state) /*rows host_id bigint, state text*/
ON CONFLICT (host_id) DO UPDATE SET state = excluded.state

-- name: save_domain_budget
INSERT INTO domain_budgets (domain_id, state) /*rows domain_id bigint, state text*/
ON CONFLICT (domain_id) DO UPDATE SET state = excluded.state

-- name: save_soft_missing
INSERT INTO soft_missing (host_id, state) /*rows host_id bigint, state text*/
ON CONFLICT (host_id) DO UPDATE SET state = excluded.state

-- name: learn_parameter
INSERT INTO parameters (host, place, name, pairs, contents, learnt_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (host, place, name)
DO UPDATE SET pairs = excluded.pairs, contents = excluded.contents, learnt_at = excluded.learnt_at, refuted_at = NULL

-- name: refute_parameter
UPDATE parameters SET refuted_at = $1 WHERE host = $2 AND place = $3 AND name = $4

-- name: parameters
SELECT host, place, name, pairs, contents, refuted_at IS NOT NULL FROM parameters

-- name: add_seed
INSERT INTO seeds (url, written, source, added_at) /*rows url text, written text, source text, added_at float8*/
ON CONFLICT DO NOTHING

-- name: seeds
SELECT url FROM seeds

-- name: count
INSERT INTO counters (name, epoch, value)
SELECT name, /*epoch*/, CASE WHEN bool_or(value IS NULL) THEN NULL ELSE sum(value) END
FROM (/*rows name text, value bigint*/) new GROUP BY name
ON CONFLICT (name, epoch) DO UPDATE SET value = counters.value + excluded.value

-- name: add_warc
INSERT INTO warc_files (name, committed) VALUES ($1, 0) RETURNING id

-- name: commit_warc
UPDATE warc_files SET committed = $2 WHERE id = $1

-- name: front_window
SELECT f.place, f.host_id FROM unnest(/*parts*/) p CROSS JOIN LATERAL
    (SELECT place, host_id FROM fronts WHERE part = p AND front = $1 AND (place, host_id) > ($2::float8, $3::bigint)
     ORDER BY place, host_id LIMIT $4) f
ORDER BY f.place, f.host_id LIMIT $4

-- name: host_record
SELECT new.row_number, h.id, h.host, h.domain_id, d.accesses, d.links, d.links_from_others, coalesce(c.known, 0),
    coalesce(c.answered, 0), h.number, d.suffix_id, h.next_contact, h.last_took, h.address, h.resolved, h.trouble, b.state,
    db.state, h.changing, m.state
FROM (/*rows host_id bigint*/) new JOIN hosts h ON h.id = new.host_id JOIN domains d ON d.id = h.domain_id LEFT JOIN host_counts c ON c.host_id = h.id
LEFT JOIN budgets b ON b.host_id = h.id LEFT JOIN domain_budgets db ON db.domain_id = h.domain_id
LEFT JOIN soft_missing m ON m.host_id = h.id

-- name: host_name
SELECT host FROM hosts WHERE id = $1

-- name: host_clock
SELECT next_contact FROM hosts WHERE id = $1

-- name: host_robots
SELECT new.row_number, r.origin, r.host_id, r.status, r.fetched_at, r.expires_at, r.body, r.unreachable_since, r.guessed_at
FROM (/*rows host_id bigint*/) new JOIN robots r ON r.host_id = new.host_id

-- name: host_queue
SELECT new.row_number, u.id, u.fingerprint, u.url, q.front, q.place, u.priority, u.depth, u.tries, u.hops, u.sitemap,
    nullif(u.visits, 0), u.modified, (SELECT changefreq FROM hints WHERE url_id = u.id)
FROM (/*rows host_id bigint, front smallint, after_place float8, after_id bigint, most bigint*/) new CROSS JOIN LATERAL
    (SELECT front, place, url_id FROM queue WHERE host_id = new.host_id AND front = new.front
        AND (place, url_id) > (new.after_place, new.after_id) ORDER BY place, url_id LIMIT new.most) q
JOIN urls u ON u.id = q.url_id ORDER BY new.row_number, q.place, q.url_id

-- name: redirects_to
WITH RECURSIVE chain (id, steps) AS (
    SELECT found_on, 1 FROM urls WHERE id = $1 AND via = 2
    UNION ALL
    SELECT u.found_on, chain.steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE u.via = 2 AND chain.steps < $2)
SELECT u.fingerprint FROM chain JOIN urls u ON u.id = chain.id ORDER BY chain.steps

-- name: resting_addresses
SELECT address, next_contact FROM hosts WHERE next_contact > 0 AND next_contact > $1 AND address IS NOT NULL

-- name: resting_hosts_with_reasons
SELECT host, next_contact, rest_reason FROM hosts WHERE next_contact > 0 AND next_contact > $1

-- name: fingerprints_after
SELECT id, fingerprint FROM urls WHERE id > $1 ORDER BY id LIMIT $2

-- name: digests_after
SELECT digest FROM contents WHERE digest > $1 ORDER BY digest LIMIT $2

-- name: save_signature
INSERT INTO signatures (url_id, signature, near_duplicate_of, distance)
SELECT DISTINCT ON (url_id) url_id, signature, near_duplicate_of, distance
FROM (/*rows url_id bigint, signature bytea, near_duplicate_of bigint, distance integer*/) new ORDER BY url_id, row_number DESC
ON CONFLICT (url_id) DO UPDATE SET seq = nextval('signature_numbers'), signature = excluded.signature,
    near_duplicate_of = excluded.near_duplicate_of, distance = excluded.distance

-- name: delete_signature
DELETE FROM signatures USING (/*rows url_id bigint*/) new WHERE signatures.url_id = new.url_id

-- The signature just before the latest N originals.
-- name: before_originals
SELECT coalesce(
    (SELECT seq FROM signatures WHERE near_duplicate_of IS NULL ORDER BY seq DESC LIMIT 1 OFFSET $1), 0
)

-- name: originals_after
SELECT seq, url_id, signature FROM signatures WHERE seq > $1 AND near_duplicate_of IS NULL ORDER BY seq LIMIT $2

-- name: counters
SELECT name, sum(value)::bigint FROM counters GROUP BY name

-- name: counter
SELECT coalesce(max(value), 0) FROM counters WHERE name = $1 AND epoch = /*epoch*/

-- name: fact
SELECT value FROM facts WHERE name = $1

-- name: worker_facts
SELECT value FROM facts WHERE name = $1::text OR starts_with(name, $1::text || '@')

-- name: forget_fact
DELETE FROM facts WHERE name = $1

-- Another worker may have been faster.
-- name: add_fact
INSERT INTO facts (name, value) /*rows name text, value text*/ ON CONFLICT DO NOTHING

-- name: set_fact
INSERT INTO facts (name, value)
SELECT DISTINCT ON (name) name, value FROM (/*rows name text, value text*/) new ORDER BY name, row_number DESC
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: warc_files
SELECT id, name, committed FROM warc_files ORDER BY id

-- name: warc_id
SELECT id FROM warc_files WHERE name = $1

-- name: spooled_warcs
SELECT name FROM spooled_warcs ORDER BY name

-- name: note_spooled
INSERT INTO spooled_warcs (name) SELECT name FROM (/*rows name text*/) new ON CONFLICT DO NOTHING

-- name: note_stored
DELETE FROM spooled_warcs WHERE name IN (SELECT name FROM (/*rows name text*/) old)

-- name: has_warcs
SELECT EXISTS (SELECT 1 FROM warc_files)

-- name: save_hints
INSERT INTO hints (url_id, listed_in, changefreq, priority)
SELECT DISTINCT ON (u.id) u.id, new.listed_in, new.changefreq, new.priority
FROM (/*rows domain_id bigint, fingerprint bigint, listed_in bigint, changefreq text, priority float8*/) new
JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint ORDER BY u.id, new.row_number DESC
ON CONFLICT (url_id) DO UPDATE SET listed_in = excluded.listed_in, changefreq = excluded.changefreq, priority = excluded.priority

-- name: save_modified
UPDATE urls SET modified = new.modified FROM (
    SELECT DISTINCT ON (domain_id, fingerprint) domain_id, fingerprint, modified
    FROM (/*rows domain_id bigint, fingerprint bigint, modified float8*/) all_rows ORDER BY domain_id, fingerprint, row_number DESC) new
WHERE urls.domain_id = new.domain_id AND urls.fingerprint = new.fingerprint
    AND urls.modified IS DISTINCT FROM new.modified

-- Pages that we have, and of which a list now says that they were modified after our visit.
-- name: reported
SELECT u.available_at, u.id, u.host_id, h.host, u.url, v.mime, v.at, new.modified, u.memory_one,
    u.memory_two, u.priority, CASE WHEN new.believed IS NULL THEN coalesce(h.changing, '') END
FROM (/*rows domain_id bigint, fingerprint bigint, modified float8, believed boolean*/) new
    JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
    JOIN visits v ON v.url_id = u.id JOIN hosts h ON h.id = u.host_id
WHERE u.state IN (1, 2) AND u.available_at > $5 AND v.at < new.modified

-- name: bring_forward
WITH new AS (
    SELECT id, min(available_at) AS available_at FROM (/*rows available_at float8, id bigint*/) all_rows GROUP BY id),
moved AS (
    UPDATE urls u SET available_at = new.available_at FROM new JOIN urls o ON o.id = new.id WHERE u.id = o.id
    RETURNING /*moved*/
)/*follow*/

-- name: name_sitemaps
INSERT INTO sitemap_names (url_id, host)
SELECT u.id, new.host FROM (/*rows domain_id bigint, fingerprint bigint, host text*/) new
JOIN urls u ON u.domain_id = new.domain_id AND u.fingerprint = new.fingerprint
ON CONFLICT DO NOTHING

-- name: save_sitemaps
INSERT INTO sitemaps (url_id, host_id, kind, entries, dropped)
SELECT DISTINCT ON (url_id) url_id, host_id, kind, entries, dropped
FROM (/*rows url_id bigint, host_id bigint, kind text, entries bigint, dropped bigint*/) new ORDER BY url_id, row_number DESC
ON CONFLICT (url_id) DO UPDATE SET host_id = excluded.host_id, kind = excluded.kind, entries = excluded.entries,
    dropped = excluded.dropped

-- name: sitemap_names
SELECT host FROM sitemap_names WHERE url_id = $1 LIMIT $2

-- name: sitemap_counts
SELECT (SELECT coalesce(sum(entries), 0)::bigint FROM sitemaps WHERE host_id = $1 AND kind <> 'sitemapindex' AND url_id <> $2),
    (SELECT count(*) FROM urls WHERE host_id = $1 AND sitemap > 0)
