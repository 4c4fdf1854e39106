-- $1 session. What anybody has taken under an older epoch may be taken again: its writes are refused.
UPDATE reprise.restore_targets SET state = 'pending', available_at = 0, worker = '', token = '', attempts = GREATEST(attempts - 1, 0)
WHERE session = $1 AND state = 'processing'
