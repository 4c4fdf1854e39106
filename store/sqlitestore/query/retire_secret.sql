UPDATE reprise_secret SET retired = ? WHERE version = ? AND retired = 0
