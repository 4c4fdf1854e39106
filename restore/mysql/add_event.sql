-- $1 session, $2 kind, $3 who, $4 detail.
INSERT INTO restore_events (session, at, kind, who, detail) VALUES ($1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6)), $2, $3, $4)
