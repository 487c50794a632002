// A heap like that of Go servers: a map with values of many sizes, garbage, and a large array.
// Prints "ready". Then, for each line with a count, it makes that many random updates and prints
// the nanoseconds of processor time that they took.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

const (
	words = 48 << 20
	keys  = 400_000
)

var sink []byte

func cpu() int64 {
	var usage syscall.Rusage
	// RUSAGE_THREAD
	if err := syscall.Getrusage(1, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func main() {
	runtime.LockOSThread()
	// Without collections, no memory is returned at the start. `run` would have seen that memory, but
	// `report` comes too late for it.
	debug.SetGCPercent(-1)
	table := make(map[uint64][]byte)
	for i := uint64(0); i < keys; i++ {
		table[i] = make([]byte, 16+i*7919%600)
		if i%3 == 0 {
			delete(table, i/2)
			sink = make([]byte, 400)
		}
	}
	array := make([]uint64, words)
	for i := range array {
		array[i] = uint64(i)
	}
	fmt.Println("ready")
	state := uint64(1)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		count, err := strconv.Atoi(strings.TrimSpace(input.Text()))
		if err != nil {
			panic(err)
		}
		began := cpu()
		for i := 0; i < count; i++ {
			state = state*6364136223846793005 + 1442695040888963407
			array[(state>>20)%words]++
			if i%64 == 0 {
				if value := table[(state>>30)%keys]; value != nil {
					value[0]++
				}
			}
		}
		fmt.Println(cpu() - began)
	}
}
