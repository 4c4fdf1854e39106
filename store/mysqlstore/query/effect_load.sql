-- As effect_try.sql, of a row whose lock is held.
SELECT reprise_start(), made_at, effect, claimed_at, forget_at, record, answer FROM reprise_record WHERE digest = ? FOR UPDATE
