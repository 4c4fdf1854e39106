-- $1 session, $2 token, $3 epoch, $4 generation. Before it is begun.
UPDATE reprise.restore_sessions SET generation = $4 WHERE id = $1 AND token = $2 AND epoch = $3 AND state = 'renewing'
