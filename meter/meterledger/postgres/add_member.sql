-- $1 line, $2 family. Begins one where the last has ended.
INSERT INTO reprise.meter_members (line, family, from_at) SELECT $1, $2, max(until_at) FROM reprise.meter_members WHERE line = $1
