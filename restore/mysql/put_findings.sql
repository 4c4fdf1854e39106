-- $1 session, $2 round, $3 target, $4 findings: k kind, i item, o outcome, d detail.
INSERT INTO restore_findings (session, round, target, kind, item, outcome, detail, found_at)
SELECT $1, $2, $3, k, i, o, d, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) FROM JSON_TABLE($4, '$[*]' COLUMNS (k VARCHAR(255) PATH '$.k', i TEXT PATH '$.i', o VARCHAR(32) PATH '$.o', d TEXT PATH '$.d')) AS r
