// Package metertest makes random cases for the meter, for whoever decides what [meter.Apply] decides in another way: by
// a script, say. It draws what borders on something: amounts around a balance or a cap, balances of nothing and of nearly
// 2^63, clocks that are changed, states that must be refused.
package metertest
