SELECT reprise_start()
