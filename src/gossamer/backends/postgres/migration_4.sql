-- All workers use the same duration of leases.
ALTER TABLE crawl ADD COLUMN ttl double precision NOT NULL DEFAULT 10;
UPDATE crawl SET ttl = coalesce((SELECT (value::jsonb -> 'cluster' ->> 'ttl')::float8 FROM facts WHERE name = 'config'), ttl);
