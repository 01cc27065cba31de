-- What a page says of itself. Null: nothing, or it was read by an older version.
ALTER TABLE visits ADD COLUMN language TEXT;       -- as declared, a BCP 47 tag
ALTER TABLE visits ADD COLUMN canonical TEXT;      -- the address that it says it should have, made whole; null: its own
