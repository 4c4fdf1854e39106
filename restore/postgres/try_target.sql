-- $1 target, $2 token, $3 epoch, $4 attempts. It is tried now, and nothing else: only of a claim that is still the last, in a session whose epoch is still that of the claim.
UPDATE reprise.restore_targets t SET attempts = $4 FROM reprise.restore_sessions s
WHERE t.id = $1 AND t.token = $2 AND t.state = 'processing' AND s.id = t.session AND s.epoch = $3
