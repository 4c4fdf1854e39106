-- $1 targets: i target, a attempts before it was taken, $2 token. What was taken and not marked may be taken again at once, and was not tried. Whatever the epoch is: nothing is claimed by it.
UPDATE reprise.restore_targets t SET state = 'pending', available_at = 0, worker = '', token = '', attempts = k.a
FROM json_to_recordset($1::json) AS k (i bigint, a integer)
WHERE t.id = k.i AND t.token = $2 AND t.state = 'processing'
