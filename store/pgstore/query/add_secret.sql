INSERT INTO reprise.reprise_secret (version, fingerprint, primary_from, retired) VALUES ($1, $2, $3, $4)
