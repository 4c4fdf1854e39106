-- $1 session, $2 token, $3 epoch. The target was lost: from the beginning, under another generation.
UPDATE restore_sessions SET state = 'closing', phase = 0, generation = '', losses = losses + 1, epoch = epoch + 1, trouble = ''
WHERE id = $1 AND token = $2 AND epoch = $3
