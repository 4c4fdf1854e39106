UPDATE reprise.reprise_secret SET retired = reprise.reprise_instant(clock_timestamp()) WHERE version = $1 AND retired = 0
