-- $1 session, $2 kind, $3 who, $4 detail.
INSERT INTO reprise.restore_events (session, at, kind, who, detail) VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2, $3, $4)
