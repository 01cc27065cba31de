-- Any number of services keep a crawl open, each for some seconds at a time.
ALTER TABLE crawl ADD COLUMN kept_open_until timestamptz NOT NULL DEFAULT to_timestamp(0);
ALTER TABLE crawl DROP COLUMN kept_open;

-- Links that former rules refused are looked at again when every worker has applied the new ones.
ALTER TABLE workers ADD COLUMN rules_version bigint NOT NULL DEFAULT 0;
