package meterredis

import (
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

// Refused reports whether an error says that Redis does not let this user do what was asked: that does not pass by itself.
func Refused(err error) bool {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return false
	}
	word, _, _ := strings.Cut(reply.Error(), " ")
	return word == "NOPERM" || word == "NOAUTH" || word == "WRONGPASS"
}
