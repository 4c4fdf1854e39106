-- $1 changes: k id of a grant, v version; $2 generation. Leaves those as they are that were confirmed before.
UPDATE reprise.meter_grants g SET generation = $2, version = r.v, confirmed_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM json_to_recordset($1::json) AS r (k text, v bigint)
WHERE g.id = r.k AND g.generation IS NULL
