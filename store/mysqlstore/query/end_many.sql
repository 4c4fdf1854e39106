-- Writes the answers of those records that are still the ones that their callers remember. Lists of
-- statements would cost the server twice as much.
UPDATE reprise_record FORCE INDEX (reprise_record_digest)
SET forget_at = LAST_INSERT_ID(@reprise_at) + CAST(ELT(FIELD(digest, [?]), [?]) AS SIGNED),
    answer = ELT(FIELD(digest, [?]), [?]),
    record = ELT(FIELD(digest, [?]), [?])
WHERE digest IN ([?]) AND record = ELT(FIELD(digest, [?]), [?]);
