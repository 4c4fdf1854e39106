-- The record of one key as it is committed, if there is one. The time is that of the statement's start, which
-- comes before its snapshot; see Store.Apply for why it must.
SELECT reprise_start(), claimed_at, forget_at, record, answer FROM reprise_record WHERE digest = ?
