-- A meter with reprise.lines lines, a setting, in the ledger's empty tables. Of ten lines five are in a family: lines a tenth in families of
-- all. Each line has three daily totals, of which every row is in the done log, and every other line a row that no fold has taken in.
--
-- Lines are numbered from 0. Line i is in family i / 10, if i % 10 < 5. Days are of UTC.

INSERT INTO reprise.meter_apps VALUES ('video', 0), ('chat', 0) ON CONFLICT DO NOTHING;

INSERT INTO reprise.meter_lines
SELECT 'line-' || to_char(i, 'FM0000000'), 1000000, 5000, 0 FROM generate_series(0, current_setting('reprise.lines')::int - 1) AS i;

INSERT INTO reprise.meter_families
SELECT 'family-' || to_char(f, 'FM000000'), 30000, 0 FROM generate_series(0, (current_setting('reprise.lines')::int - 1) / 10) AS f;

INSERT INTO reprise.meter_members (line, family, from_at)
SELECT 'line-' || to_char(i, 'FM0000000'), CASE WHEN i % 10 < 5 THEN 'family-' || to_char(i / 10, 'FM000000') ELSE '' END, 0
FROM generate_series(0, current_setting('reprise.lines')::int - 1) AS i;

-- Months that an event may be of, or that are opened ahead.
CREATE TEMPORARY TABLE months AS
SELECT DISTINCT to_char((now() AT TIME ZONE 'UTC') + d * interval '1 day', 'YYYYMM')::int AS month FROM generate_series(-2, 2) AS d;

INSERT INTO reprise.meter_grants
SELECT 'monthly:' || id || ':' || month, 'monthly', line, family, month, individual, qos, shared, 0, repeat('0', 31) || '1', 1, 0
FROM (SELECT id, id AS line, '' AS family, individual, qos, 0 AS shared FROM reprise.meter_lines
    UNION ALL SELECT id, '', id, 0, 0, shared FROM reprise.meter_families) AS owners, months;

INSERT INTO reprise.meter_folds (through, folded, started_at, ended_at) VALUES (to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')::int, 0, 0, 0);

-- Rows 0, 1 and 2 of a line are folded, of the days before yesterday, yesterday and today; row 3 is not, of today.
CREATE TEMPORARY TABLE rows AS
SELECT i, n, to_char(at, 'YYYYMMDD')::int AS day, to_char(at, 'YYYYMM')::int AS month, (extract(epoch FROM at) * 1000000)::bigint AS micros,
    'line-' || to_char(i, 'FM0000000') AS line, CASE WHEN i % 10 < 5 THEN 'family-' || to_char(i / 10, 'FM000000') ELSE '' END AS family,
    CASE WHEN n % 2 = 0 THEN 'video' ELSE 'chat' END AS app
FROM generate_series(0, current_setting('reprise.lines')::int - 1) AS i,
    (SELECT n, (now() AT TIME ZONE 'UTC') - least(greatest(0, 2 - n), 2) * interval '1 day' AS at FROM generate_series(0, 3) AS n) AS days
WHERE n < 3 OR i % 2 = 0;

INSERT INTO reprise.meter_done
SELECT line, 'event-' || n, app, 100, micros, sha256(int8send(i::bigint * 4 + n)), CASE family WHEN '' THEN 100 ELSE 70 END, CASE family WHEN '' THEN 0 ELSE 30 END, 0, 0, 0, '', 0,
    day, month, family, repeat('0', 31) || '1', n + 2, CASE family WHEN '' THEN 0 ELSE (i % 10) * 4 + n + 2 END, micros, CASE WHEN n < 3 THEN 1 END
FROM rows;

INSERT INTO reprise.meter_daily_app_total
SELECT line, day, app, family, month, 1, CASE family WHEN '' THEN 100 ELSE 70 END, CASE family WHEN '' THEN 0 ELSE 30 END, 0, 0, 0 FROM rows WHERE n < 3;

INSERT INTO reprise.meter_monthly_snapshot
SELECT line, month, family, count(*), CASE family WHEN '' THEN 100 ELSE 70 END * count(*), CASE family WHEN '' THEN 0 ELSE 30 END * count(*), 0, 0, 0
FROM rows WHERE n < 3 GROUP BY line, month, family;

DROP TABLE rows, months;
VACUUM ANALYZE reprise.meter_lines;
VACUUM ANALYZE reprise.meter_families;
VACUUM ANALYZE reprise.meter_members;
VACUUM ANALYZE reprise.meter_grants;
VACUUM ANALYZE reprise.meter_done;
VACUUM ANALYZE reprise.meter_daily_app_total;
VACUUM ANALYZE reprise.meter_monthly_snapshot;
