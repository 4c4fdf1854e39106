-- Which keys have a record, and which.
SELECT digest, record FROM reprise_record FORCE INDEX (reprise_record_digest) WHERE digest IN ([?])
