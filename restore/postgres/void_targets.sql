-- $1 session, $2 generation, $3 number from, $4 up to. What was done under another generation is to be done again.
UPDATE reprise.restore_targets SET state = 'pending', available_at = 0, worker = '', token = '', attempts = 0, reason = '',
    units_done = 0, units_skipped = 0, found = 0, generation = '', settled_at = 0
WHERE id BETWEEN $3 AND $4 AND session = $1 AND state <> 'pending' AND generation <> $2
