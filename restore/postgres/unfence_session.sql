-- $1 session, $2 epoch. A worker was refused although the fence should be there: the manager has to look.
UPDATE reprise.restore_sessions SET fenced = 0 WHERE id = $1 AND epoch = $2 AND fenced = $2
