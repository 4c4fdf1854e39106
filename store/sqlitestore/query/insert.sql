INSERT INTO reprise_record (digest, state, operation, secret_version, revision, lease_end, forget_at, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING
