-- $1 changes: o owner, g generation, n how many, v the highest version. Adds them.
INSERT INTO meter_folded_changes (owner, generation, changes, highest)
SELECT o, g, n, v FROM JSON_TABLE($1, '$[*]' COLUMNS (o VARCHAR(66) PATH '$.o', g VARCHAR(32) PATH '$.g', n BIGINT PATH '$.n', v BIGINT PATH '$.v')) AS r
ON DUPLICATE KEY UPDATE changes = meter_folded_changes.changes + r.n, highest = GREATEST(meter_folded_changes.highest, r.v)
