//go:build unix

package meter_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// compare runs the functions on pairs of amounts, and answers below, plus and, where there is one, minus.
const compare = `
local out = {}
for i = 1, #ARGV, 2 do
	local a, b = ARGV[i], ARGV[i + 1]
	out[#out + 1] = table.concat({tostring(below(a, b)), plus(a, b) or 'none', below(a, b) and 'none' or minus(a, b)}, ' ')
end
return table.concat(out, '\n')`

// TestLuaArithmetic runs the Lua of docs/meter.md in Redis, and compares it with numbers of any length.
func TestLuaArithmetic(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/meter.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lua, _ := strings.Cut(string(text), "```lua\n")
	lua, _, ok := strings.Cut(lua, "```")
	if !ok {
		t.Fatal("docs/meter.md has no Lua")
	}
	random := rand.New(rand.NewPCG(3, 0))
	edges := []int64{0, 1, 999999999, 1000000000, 999999999999999, 1000000000000000, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1 << 62, meter.MaxAmount - 1, meter.MaxAmount}
	draw := func() int64 {
		if n := edges[random.IntN(len(edges))]; random.IntN(2) == 0 {
			return max(0, n-random.Int64N(3))
		}
		return random.Int64() >> random.IntN(63)
	}
	command, want := []string{"EVAL", lua + compare, "0"}, []string{}
	for i := range 20_000 {
		a, b := draw(), draw()
		if i < len(edges)*len(edges) {
			a, b = edges[i/len(edges)], edges[i%len(edges)]
		}
		command = append(command, fmt.Sprint(a), fmt.Sprint(b))
		want = append(want, inLongNumbers(a, b))
	}
	redis := servicetest.Redis(t)
	conn, err := redis.Dial(redis.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Do(command...)
	got, ok := reply.(string)
	if err != nil || !ok {
		t.Fatalf("Redis answered a %T, %v", reply, err)
	}
	for i, line := range strings.Split(got, "\n") {
		if line != want[i] {
			t.Fatalf("%s and %s: got %s, want %s", command[3+2*i], command[4+2*i], line, want[i])
		}
	}
}

func inLongNumbers(a, b int64) string {
	sum := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
	plus, minus := sum.String(), "none"
	if !sum.IsInt64() {
		plus = "none"
	}
	if a >= b {
		minus = fmt.Sprint(a - b)
	}
	return fmt.Sprint(a < b, " ", plus, " ", minus)
}
