//go:build !unix

package main

import "os"

// columnsOf is how wide a terminal is, if it is as usual.
func columnsOf(*os.File) int { return usualColumns }
