UPDATE reprise_record FORCE INDEX (reprise_record_digest) SET claimed_at = ?, forget_at = ?, effect = 0, record = ?, answer = ? WHERE digest = ?;
