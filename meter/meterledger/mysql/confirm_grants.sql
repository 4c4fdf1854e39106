-- $1 changes: k id of a grant, v version; $2 generation. Leaves those as they are that were confirmed before.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (k VARCHAR(128) PATH '$.k', v BIGINT PATH '$.v')) AS r
STRAIGHT_JOIN meter_grants g FORCE INDEX (PRIMARY) ON g.id = r.k
SET g.generation = $2, g.version = r.v, g.confirmed_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE g.generation IS NULL
