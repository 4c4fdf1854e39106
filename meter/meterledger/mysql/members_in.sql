-- Lines in no family from $1 up to, not at, $2, and lines of families from $3 up to, not at, $4: line, family.
SELECT line, family FROM meter_members FORCE INDEX (meter_members_now) WHERE until_at = 9223372036854775807 AND family = '' AND line >= $1 AND line < $2
UNION ALL
SELECT line, family FROM meter_members FORCE INDEX (meter_members_now) WHERE until_at = 9223372036854775807 AND family > '' AND family >= $3 AND family < $4
