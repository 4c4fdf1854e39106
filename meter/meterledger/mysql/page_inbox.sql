-- $1 number after which, $2 how many. Events of the inbox, taken or not: number, event, when it came.
SELECT id, event, received_at FROM meter_inbox WHERE id > $1 ORDER BY id LIMIT $2
