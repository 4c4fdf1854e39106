-- $1 rows, with the values of each in the order of the columns. Adds those whose events are not there.
INSERT INTO meter_done (
    line, event_id, app, digest, why, family, generation,
    bytes, occurred_at, individual, shared, qos, blocked, uncounted, speed, day, month, line_version, family_version)
VALUES $1
ON DUPLICATE KEY UPDATE fold = meter_done.fold
