-- $1 target, $2 token, $3 epoch, $4 attempts. It is tried now, and nothing else: only of a claim that is still the last, in a session whose epoch is still that of the claim.
UPDATE restore_targets t STRAIGHT_JOIN restore_sessions s ON s.id = t.session SET t.attempts = $4
WHERE t.id = $1 AND t.token = $2 AND t.state = 'processing' AND s.epoch = $3
