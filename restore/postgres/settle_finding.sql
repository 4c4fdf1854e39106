-- $1 finding, $2 outcome, $3 detail.
UPDATE reprise.restore_findings SET outcome = $2, detail = $3, settled_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE id = $1 AND settled_at = 0
