-- $1 finding, $2 outcome, $3 detail, $4 what was replaced.
UPDATE reprise.restore_findings SET outcome = $2, detail = $3, old = $4, settled_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = $1 AND settled_at = 0
