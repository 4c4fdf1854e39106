-- $1 session, $2 token, $3 epoch, $4 state and $5 phase that it is in, $6 state, $7 phase and $8 round that follow, $9 by how much the epoch is raised.
UPDATE reprise.restore_sessions SET state = $6, phase = $7, round = $8, epoch = epoch + $9, trouble = ''
WHERE id = $1 AND token = $2 AND epoch = $3 AND state = $4 AND phase = $5
