-- $1 target, $2 token, $3 epoch. A target of a claim that is still the last, in a session whose epoch is still that of the claim.
SELECT t.id FROM reprise.restore_targets t WHERE t.id = $1 AND t.token = $2 AND t.state = 'processing'
AND EXISTS (SELECT 1 FROM reprise.restore_sessions s WHERE s.id = t.session AND s.epoch = $3) FOR UPDATE
