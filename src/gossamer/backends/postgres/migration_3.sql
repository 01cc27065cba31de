-- Any number of services keep a crawl open, each for some seconds at a time.
ALTER TABLE crawl ADD COLUMN kept_open_until timestamptz NOT NULL DEFAULT to_timestamp(0);
ALTER TABLE crawl DROP COLUMN kept_open;
