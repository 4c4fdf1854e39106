-- Up to $1 events that may be taken, those first that wait longest: number, event, when it came. Those that another takes are left out.
SELECT id, event, received_at FROM reprise.meter_inbox WHERE available_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
