-- Writes the answer of a record that is still the one that the caller remembers, and returns when it is
-- forgotten as the id of an insertion.
UPDATE reprise_record SET forget_at = LAST_INSERT_ID(reprise_clock() + ?), record = ?, answer = ?
WHERE digest = ? AND claimed_at = ? AND record = ?
