-- The $2 lines in no family from $1 on.
SELECT line FROM meter_members FORCE INDEX (meter_members_now) WHERE until_at = 9223372036854775807 AND family = '' AND line >= $1 ORDER BY line LIMIT $2
