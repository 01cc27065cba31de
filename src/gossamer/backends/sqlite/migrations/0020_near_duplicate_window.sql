-- Near-duplicates are found in memory, by the latest originals: ADR 34.
DROP TABLE near_bands;
DROP TABLE near_segments;
