-- $1 line. Ends the membership that it has.
UPDATE meter_members SET until_at = GREATEST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), from_at + 1) WHERE line = $1 AND until_at = 9223372036854775807
