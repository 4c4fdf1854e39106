-- $1 session, $2 token, $3 epoch. Every part of the target has confirmed it.
UPDATE reprise.restore_sessions SET fenced = $3 WHERE id = $1 AND token = $2 AND epoch = $3
