-- $1 session, $2 round, $3 target, $4 findings: k kind, i item, o outcome, d detail.
INSERT INTO reprise.restore_findings (session, round, target, kind, item, outcome, detail, found_at)
SELECT $1::bigint, $2::smallint, $3::bigint, k, i, o, d, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM json_to_recordset($4::json) AS r (k text, i text, o text, d text)
