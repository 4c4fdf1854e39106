-- Writes the answers of those records that are still the ones that their callers remember. Lists of statements
-- would cost the server twice as much. A digest's place in the list is found by its first eight bytes: where two
-- have them in common, the second is compared with the first one's record, and is left alone.
UPDATE reprise_record FORCE INDEX (reprise_record_digest)
SET forget_at = LAST_INSERT_ID(@reprise_at) + CAST(ELT(FIELD(LEFT(digest, 8), [?]), [?]) AS SIGNED),
    answer = ELT(FIELD(LEFT(digest, 8), [?]), [?]),
    record = ELT(FIELD(LEFT(digest, 8), [?]), [?])
WHERE digest IN ([?]) AND record = ELT(FIELD(LEFT(digest, 8), [?]), [?]);
