SELECT reprise_clock()
