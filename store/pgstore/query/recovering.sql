-- Whether the server is a standby: it has the past of another one, and gives locks that nobody else heeds.
SELECT pg_is_in_recovery()
