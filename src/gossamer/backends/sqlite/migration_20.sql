-- From schema 19: what became of requests for /sitemap.xml is stored with the robots.txt that names no sitemap.
ALTER TABLE robots ADD COLUMN guessed_at REAL;
ALTER TABLE robots ADD COLUMN guess TEXT;
