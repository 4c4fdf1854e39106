-- $1 session, $2 phase. Targets with findings, and those that could not be verified, are to be verified again.
UPDATE reprise.restore_targets SET state = 'pending', available_at = 0, attempts = 0, found = 0 WHERE session = $1 AND phase = $2 AND (state = 'done' AND found > 0 OR state = 'failed')
