VACUUM (SKIP_LOCKED) reprise.reprise_open
