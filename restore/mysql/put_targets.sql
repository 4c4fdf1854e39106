-- $1 session, $2 phase, $3 targets: f from, t to, u units, p priority, a attempts. Leaves those that are there.
INSERT INTO restore_targets (session, phase, from_key, to_key, units, priority, attempts, reason)
SELECT $1, $2, f, t, u, p, a, '' FROM JSON_TABLE($3, '$[*]' COLUMNS (f VARCHAR(255) PATH '$.f', t VARCHAR(255) PATH '$.t', u BIGINT PATH '$.u', p BIGINT PATH '$.p', a INT PATH '$.a')) AS r
ON DUPLICATE KEY UPDATE priority = restore_targets.priority
