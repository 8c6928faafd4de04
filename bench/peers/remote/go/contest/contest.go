// SPDX-License-Identifier: MIT

// Package contest is what the peers written in Go share: the command line, the goroutines, the sections and their
// records, as ../../README.md describes them.
package contest

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Contest is what the command line asks for.
type Contest struct {
	Addresses []string
	Key       string
	Delay     time.Duration // between two polls; negative = as the library comes
	threads   int
	sections  int
	run       time.Duration
	hold      time.Duration
	pause     time.Duration
	counter   string
}

// Lock is one goroutine's own.
type Lock interface {
	Acquire()
	Release()
}

type moments struct{ asked, had, letting, let int64 }

// Must ends the program with the error, if there is one.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Go's own clock has no number that another process could compare with.
func nowNs() int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	Must(err)
	return value
}

// Read reads the command line.
func Read() Contest {
	words := os.Args[1:]
	if len(words) < 9 {
		Must(fmt.Errorf("usage: PEER PORT,… KEY THREADS SECTIONS RUN_MS HOLD_US PAUSE_US DELAY_MS COUNTER"))
	}
	c := Contest{
		Key:      words[1],
		threads:  number(words[2]),
		sections: number(words[3]),
		run:      time.Duration(number(words[4])) * time.Millisecond,
		hold:     time.Duration(number(words[5])) * time.Microsecond,
		pause:    time.Duration(number(words[6])) * time.Microsecond,
		Delay:    time.Duration(number(words[7])) * time.Millisecond,
		counter:  words[8],
	}
	for _, port := range strings.Split(words[0], ",") {
		c.Addresses = append(c.Addresses, "127.0.0.1:"+port)
	}
	return c
}

func (c Contest) count() {
	if c.counter == "-" {
		return
	}
	text, err := os.ReadFile(c.counter)
	Must(err)
	Must(os.WriteFile(c.counter, []byte(fmt.Sprintf("%d\n", number(strings.TrimSpace(string(text)))+1)), 0o600))
}

func (c Contest) section(lock Lock) moments {
	var at moments
	at.asked = nowNs()
	lock.Acquire()
	at.had = nowNs()
	c.count()
	time.Sleep(c.hold)
	at.letting = nowNs()
	lock.Release()
	at.let = nowNs()
	time.Sleep(c.pause)
	return at
}

func (c Contest) takePart(lock Lock) []moments {
	var records []moments
	end := time.Now().Add(c.run)
	for (c.sections == 0 || len(records) < c.sections) && (c.run == 0 || time.Now().Before(end)) {
		records = append(records, c.section(lock))
	}
	return records
}

// Hold does everything from "ready" to the last record.
func (c Contest) Hold(join func() Lock) {
	first := join()
	first.Acquire()
	first.Release()
	locks, records := make([]Lock, c.threads), make([][]moments, c.threads)
	for nth := range locks {
		locks[nth] = join()
	}
	fmt.Println("ready")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	Must(err)
	var running sync.WaitGroup
	for nth := range locks {
		running.Add(1)
		go func(nth int) {
			defer running.Done()
			records[nth] = c.takePart(locks[nth])
		}(nth)
	}
	running.Wait()
	out := bufio.NewWriter(os.Stdout)
	for nth := range records {
		for _, at := range records[nth] {
			fmt.Fprintln(out, nth, at.asked, at.had, at.letting, at.let)
		}
	}
	Must(out.Flush())
}
