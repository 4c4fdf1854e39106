-- How many events there are, and since when the first has been there (0: there is none).
SELECT COUNT(*), COALESCE(MIN(received_at), 0) FROM meter_inbox
