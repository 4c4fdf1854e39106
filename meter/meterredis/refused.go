package meterredis

import "github.com/reprise-dev/reprise/store/redisstore"

// Refused reports whether an error says that Redis does not let this user do what was asked: that does not pass by itself.
func Refused(err error) bool { return redisstore.NotPermitted(err) }
