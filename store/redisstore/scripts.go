package redisstore

import (
	_ "embed"

	"github.com/redis/rueidis"
)

//go:embed script/load.lua
var loadLua string

//go:embed script/swap.lua
var swapLua string

//go:embed script/finish.lua
var finishLua string

//go:embed script/index.lua
var indexLua string

//go:embed script/peek.lua
var peekLua string

//go:embed script/drop.lua
var dropLua string

//go:embed script/watch.lua
var watchLua string

//go:embed script/time.lua
var timeLua string

//go:embed script/secret.lua
var secretLua string

// What scripts answer instead of a result.
const (
	replyMoved = -2 // the record is another one than the caller knows
	replyLost  = -3 // the bucket's generation is missing, or another one
)

// scripts are sent by their digest. A server that does not know one is sent its text: it has run nothing then.
type scripts struct{ load, swap, finish, index, peek, drop, watch, time, secret *rueidis.Lua }

func newScripts() scripts {
	return scripts{
		load: rueidis.NewLuaScript(loadLua), swap: rueidis.NewLuaScript(swapLua),
		finish: rueidis.NewLuaScript(finishLua), index: rueidis.NewLuaScript(indexLua),
		peek: rueidis.NewLuaScript(peekLua), drop: rueidis.NewLuaScript(dropLua), watch: rueidis.NewLuaScript(watchLua),
		time: rueidis.NewLuaScript(timeLua), secret: rueidis.NewLuaScript(secretLua),
	}
}
