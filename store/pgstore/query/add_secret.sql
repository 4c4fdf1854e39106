-- Adds a version, unless it is too late for that by now.
INSERT INTO reprise.reprise_secret (version, fingerprint, primary_from, retired)
SELECT $1, $2, $3, $4 WHERE reprise.reprise_instant(clock_timestamp()) <= $5
