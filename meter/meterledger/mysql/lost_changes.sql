-- $1 lines, each l with v, the number of changes that Redis has; $2 generation. What the rows of later changes sum up to: events, when the first and the
-- last happened, and bytes of each kind of allowance.
SELECT STRAIGHT_JOIN COUNT(*), COALESCE(MIN(d.occurred_at), 0), COALESCE(MAX(d.occurred_at), 0), COALESCE(SUM(d.individual), 0), COALESCE(SUM(d.shared), 0), COALESCE(SUM(d.qos), 0)
FROM JSON_TABLE($1, '$[*]' COLUMNS (l VARCHAR(160) PATH '$.l', v BIGINT PATH '$.v')) AS k
JOIN meter_done d FORCE INDEX (meter_done_recent) ON d.line = k.l AND d.generation = $2 AND d.line_version > k.v
