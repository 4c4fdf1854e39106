-- How many events there are, and since when the first has been there (0: there is none).
SELECT count(*), coalesce(min(received_at), 0) FROM reprise.meter_inbox
