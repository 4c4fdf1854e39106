-- $1 line. Its families in order: family, from, until (0: it still is).
SELECT family, from_at, CASE until_at WHEN 9223372036854775807 THEN 0 ELSE until_at END FROM reprise.meter_members WHERE line = $1 ORDER BY from_at
