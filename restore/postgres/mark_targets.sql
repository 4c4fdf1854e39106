-- $1 what became of targets, $2 token, $3 epoch, $4 generation. Only of a claim that is still the last, in a session whose epoch and generation are
-- still those of the claim. i target, s state, n units done, k skipped, w reason, b how long it is not to be taken, a attempts, f findings.
UPDATE reprise.restore_targets t SET state = r.s, units_done = r.n, units_skipped = r.k, reason = r.w, available_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + r.b, attempts = r.a,
    found = r.f, worker = '', token = '', generation = $4, settled_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM json_to_recordset($1::json) AS r (i bigint, s text, n bigint, k bigint, w text, b bigint, a integer, f bigint), reprise.restore_sessions s
WHERE t.id = r.i AND t.token = $2 AND t.state = 'processing' AND s.id = t.session AND s.epoch = $3 AND s.generation = $4
