INSERT INTO reprise_schema (version_id, is_applied) VALUES ($1, true)
