SELECT reprise.reprise_clock(clock_timestamp())
