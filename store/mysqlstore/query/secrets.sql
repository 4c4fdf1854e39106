SELECT version, fingerprint, primary_from, retired FROM reprise_secret ORDER BY version
