-- $1 lines, each l with v, the number of changes that Redis has; $2 generation. What the rows of later changes sum up to: events, when the first and the
-- last happened, and bytes of each kind of allowance.
-- Each row of the batch is looked up by itself (OFFSET 0 keeps the planner to it), whatever is known of the tables when the plan is made.
SELECT count(*), coalesce(min(d.occurred_at), 0), coalesce(max(d.occurred_at), 0), coalesce(sum(d.individual), 0), coalesce(sum(d.shared), 0), coalesce(sum(d.qos), 0)
FROM json_to_recordset($1::json) AS k (l text, v bigint)
CROSS JOIN LATERAL (SELECT * FROM reprise.meter_done d WHERE d.line = k.l AND d.generation = $2 AND d.line_version > k.v OFFSET 0) AS d
