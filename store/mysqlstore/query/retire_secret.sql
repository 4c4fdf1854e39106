UPDATE reprise_secret SET retired = reprise_clock() WHERE version = ? AND retired = 0
