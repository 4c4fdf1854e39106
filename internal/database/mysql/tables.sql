-- $1 database. The tables that are there.
SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = $1
