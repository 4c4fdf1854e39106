UPDATE reprise_record SET claimed_at = ?, forget_at = ?, record = ?, answer = ? WHERE digest = ?;
