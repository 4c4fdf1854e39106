-- Up to $1 events that may be taken, those first that wait longest: number, event, when it came. Those that another takes are left out.
SELECT id, event, received_at FROM meter_inbox FORCE INDEX (meter_inbox_available) WHERE available_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
