-- The time, before the snapshot of what is read next.
SELECT reprise_start()
