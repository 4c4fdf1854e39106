SELECT version, fingerprint, primary_from, retired FROM reprise.reprise_secret ORDER BY version
