-- $1 line. Ends the membership that it has.
UPDATE reprise.meter_members SET until_at = greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, from_at + 1) WHERE line = $1 AND until_at = 9223372036854775807
