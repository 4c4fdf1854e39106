-- The table in which migrations are noted, as goose makes it, and goose's first note.
CREATE TABLE IF NOT EXISTS reprise_schema (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp     TIMESTAMP DEFAULT (datetime('now'))
);
INSERT INTO reprise_schema (version_id, is_applied)
SELECT 0, 1 WHERE NOT EXISTS (SELECT 1 FROM reprise_schema)
