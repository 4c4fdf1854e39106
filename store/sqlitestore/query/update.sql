UPDATE reprise_record SET state = ?, revision = ?, lease_end = ?, forget_at = ?, record = ? WHERE id = ?
