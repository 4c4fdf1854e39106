SELECT reprise.reprise_micros(clock_timestamp())
