UPDATE reprise_record SET claimed_at = ?, forget_at = ?, effect = 0, record = ?, answer = ? WHERE digest = ?;
