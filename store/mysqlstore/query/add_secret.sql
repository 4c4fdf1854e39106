INSERT INTO reprise_secret (version, fingerprint, primary_from, retired) VALUES (?, ?, ?, ?)
