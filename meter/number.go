package meter

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// MaxAmount is the largest amount: 2^63 - 1 bytes.
const MaxAmount = math.MaxInt64

// parseDecimal reads a canonical number from 0 to [MaxAmount]: digits alone, without needless zeros.
func parseDecimal(s string) (int64, bool) {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// add returns the sum of two amounts, and whether it is one.
func add(a, b int64) (int64, bool) {
	if a > MaxAmount-b {
		return 0, false
	}
	return a + b, true
}

// less returns what is left of an amount when another is taken away, and at least nothing.
func less(a, b int64) int64 { return max(0, a-b) }

// Wide is a sum of amounts that may be larger than one amount. It is exact up to 2^128 - 1, which no number of
// rows reaches.
type Wide struct {
	high, low uint64
}

// WideOf returns an amount as a sum.
func WideOf(amount int64) Wide { return Wide{low: uint64(amount)} }

// Plus returns the sum.
func (w Wide) Plus(other Wide) Wide {
	low, carry := bits.Add64(w.low, other.low, 0)
	high, _ := bits.Add64(w.high, other.high, carry)
	return Wide{high, low}
}

// Minus returns the difference, and whether there is one: a sum is not negative.
func (w Wide) Minus(other Wide) (Wide, bool) {
	low, borrow := bits.Sub64(w.low, other.low, 0)
	high, borrow := bits.Sub64(w.high, other.high, borrow)
	return Wide{high, low}, borrow == 0
}

// Amount returns the sum as an amount, and whether it is small enough to be one.
func (w Wide) Amount() (int64, bool) {
	return int64(w.low & MaxAmount), w.high == 0 && w.low <= MaxAmount
}

// String returns the sum in decimal, as SQL has it.
func (w Wide) String() string { return w.big().String() }

func (w Wide) big() *big.Int {
	n := new(big.Int).SetUint64(w.high)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.low))
}

// ParseWide reads what [Wide.String] wrote.
func ParseWide(s string) (Wide, error) {
	if n, ok := parseDecimal(s); ok { // nearly all are amounts
		return WideOf(n), nil
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 128 || n.String() != s {
		return Wide{}, fmt.Errorf("%s is not a sum of amounts: digits alone, up to 2^128 - 1", quoted(s))
	}
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64))
	return Wide{high: n.Rsh(n, 64).Uint64(), low: low.Uint64()}, nil
}
