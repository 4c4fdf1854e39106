-- Which records nobody holds.
SELECT digest FROM reprise_record FORCE INDEX (reprise_record_digest) WHERE digest IN ([?]) FOR UPDATE SKIP LOCKED
