-- From schema 20: why links of a page were refused, for rules that become wider. Unknown for old rows.
ALTER TABLE visits ADD COLUMN refused INTEGER;
