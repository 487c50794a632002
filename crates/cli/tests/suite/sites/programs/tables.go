// Two tables of 6 MiB. The argument names the one that is used at random. Each page of
// the other is stored to once.
package main

import "os"

func first() []uint64 {
	return make([]uint64, 3<<18) // first
}

func second() []uint64 {
	table := make([]uint64, 3<<18) // second
	return table
}

func main() {
	one, other := first(), second()
	for i := 0; i < len(one); i += 64 {
		one[i], other[i] = 1, 1
	}
	hot := other
	if os.Args[1] == "first" {
		hot = one
	}
	state, sum := uint64(1), uint64(0)
	for i := 0; i < 50000; i++ {
		state = state*6364136223846793005 + 1442695040888963407
		at := (state >> 33) % uint64(len(hot))
		hot[at]++
		sum += hot[at]
	}
	if sum == 1 {
		os.Exit(1)
	}
}
