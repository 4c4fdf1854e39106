// Package faulttest is the suite of faults for all stores, through the whole guard: one call of [Run] from
// a store's test. What a store does when nothing goes wrong is tested by store/storetest.
package faulttest
