-- $1 session. What anybody has taken under an older epoch may be taken again: its writes are refused. Whether whoever took it is late or dead nobody knows: it
-- counts as an attempt.
UPDATE reprise.restore_targets SET state = 'pending', available_at = 0, worker = '', token = ''
WHERE session = $1 AND state = 'processing'
