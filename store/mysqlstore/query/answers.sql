-- The answers of some records.
SELECT digest, answer FROM reprise_record FORCE INDEX (reprise_record_digest) WHERE digest IN ([?])
