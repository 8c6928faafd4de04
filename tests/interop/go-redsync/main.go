// SPDX-License-Identifier: MIT

// redsync as a contender. See ../README.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "redsync:", err)
		os.Exit(1)
	}
}

// Go's own clock has no number that another process could compare with.
func nowNs() int64 {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

func section(directory string, log *os.File) {
	begin := nowNs()
	marker, counter := filepath.Join(directory, "marker"), filepath.Join(directory, "counter")
	inside, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	must(err)
	inside.Close()
	text, err := os.ReadFile(counter)
	must(err)
	value, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(err)
	must(os.WriteFile(counter, []byte(fmt.Sprintf("%d\n", value+1)), 0o600))
	must(os.Remove(marker))
	fmt.Fprintf(log, "redsync %d %d\n", begin, nowNs())
}

func main() {
	host, ports, key, directory, name := os.Args[1], os.Args[2], os.Args[3], os.Args[5], os.Args[6]
	sections, err := strconv.Atoi(os.Args[4])
	must(err)
	// One server, or several masters: PORT,PORT,…
	var pools []redsyncredis.Pool
	for _, port := range strings.Split(ports, ",") {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: host + ":" + port})))
	}
	expiry := 10 * time.Second
	abandons, _ := strconv.Atoi(os.Getenv("INTEROP_ABANDON_MS"))
	if abandons > 0 {
		expiry = time.Duration(abandons) * time.Millisecond
	}
	mutex := redsync.New(pools...).NewMutex(key, redsync.WithExpiry(expiry),
		redsync.WithTries(1<<30), redsync.WithRetryDelay(time.Millisecond))
	log, err := os.Create(filepath.Join(directory, name+".log"))
	must(err)
	for {
		if _, err := os.Stat(filepath.Join(directory, "start")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for i := 0; i < sections; i++ {
		must(mutex.Lock())
		section(directory, log)
		if abandons > 0 { // it goes, and the lock stays
			return
		}
		if ok, err := mutex.Unlock(); !ok || err != nil {
			must(fmt.Errorf("unlock: %v %v", ok, err))
		}
	}
	must(log.Close())
}
