-- $1 line, $2 policy. Its current version: version, settings, who.
SELECT version, settings, who FROM reprise.meter_policies WHERE line = $1 AND policy = $2 ORDER BY version DESC LIMIT 1
