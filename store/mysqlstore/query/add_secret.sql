-- Adds a version, unless it is too late for that by now.
INSERT INTO reprise_secret (version, fingerprint, primary_from, retired)
SELECT ?, ?, ?, ? FROM DUAL WHERE reprise_clock() <= ?
