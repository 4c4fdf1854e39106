-- Marks records whose end somebody waits for. It is worth no wait for the disk: a mark that is lost costs
-- a waiting caller some time, nothing else.
WITH hasty AS (SELECT set_config('synchronous_commit', 'off', true))
UPDATE reprise.reprise_open o SET awaited = true
FROM hasty, unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS k (head, tail, lock)
WHERE o.head = k.head AND o.tail = k.tail AND NOT o.awaited AND pg_try_advisory_xact_lock(k.lock)
