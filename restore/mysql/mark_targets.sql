-- $1 what became of targets, $2 token, $3 epoch, $4 generation. Only of a claim that is still the last, in a session whose epoch and generation are
-- still those of the claim. i target, s state, n units done, k skipped, w reason, b how long it is not to be taken, a attempts, f findings.
UPDATE JSON_TABLE($1, '$[*]' COLUMNS (i BIGINT PATH '$.i', s VARCHAR(16) PATH '$.s', n BIGINT PATH '$.n', k BIGINT PATH '$.k', w TEXT PATH '$.w', b BIGINT PATH '$.b',
    a INT PATH '$.a', f BIGINT PATH '$.f')) AS r STRAIGHT_JOIN restore_targets t ON t.id = r.i STRAIGHT_JOIN restore_sessions s ON s.id = t.session
SET t.state = r.s, t.units_done = r.n, t.units_skipped = r.k, t.reason = r.w, t.available_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)) + r.b, t.attempts = r.a,
    t.found = r.f, t.worker = '', t.token = '', t.generation = $4, t.settled_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))
WHERE t.token = $2 AND t.state = 'processing' AND s.epoch = $3 AND s.generation = $4
