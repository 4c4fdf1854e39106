-- $1 line, $2 family. Begins one where the last has ended.
INSERT INTO meter_members (line, family, from_at) SELECT $1, $2, MAX(until_at) FROM meter_members m WHERE m.line = $1
