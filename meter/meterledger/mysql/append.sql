-- $1 rows, $2 generation. Adds those whose events are not there.
-- l line, e event, a app, n bytes, t occurred at, h digest; i individual, s shared, q qos, b blocked, u uncounted;
-- w why, p speed, d day, m month, f family, v line version, x family version.
INSERT INTO meter_done (
    line, event_id, app, bytes, occurred_at, digest, individual, shared, qos, blocked, uncounted,
    why, speed, day, month, family, generation, line_version, family_version, recorded_at)
SELECT l, e, a, n, t, UNHEX(h), i, s, q, b, u, w, p, d, m, f, $2, v, x, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
FROM JSON_TABLE($1, '$[*]' COLUMNS (
    l VARCHAR(64) PATH '$.l', e VARCHAR(128) PATH '$.e', a VARCHAR(64) PATH '$.a', n BIGINT PATH '$.n', t BIGINT PATH '$.t', h CHAR(64) PATH '$.h',
    i BIGINT PATH '$.i', s BIGINT PATH '$.s', q BIGINT PATH '$.q', b BIGINT PATH '$.b', u BIGINT PATH '$.u',
    w VARCHAR(255) PATH '$.w', p BIGINT PATH '$.p', d INT PATH '$.d', m INT PATH '$.m', f VARCHAR(64) PATH '$.f', v BIGINT PATH '$.v', x BIGINT PATH '$.x')) AS r
ON DUPLICATE KEY UPDATE fold = meter_done.fold
