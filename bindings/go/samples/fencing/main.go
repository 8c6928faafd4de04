// SPDX-License-Identifier: MIT

// Command fencing shows what the token of a lock is for: a store that refuses whoever comes with an older one than it
// has seen, so that a holder who has lost the lock without noticing does no harm.
//
//	go run ./samples/fencing [URL]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	liblock "liblock.dev/go"
)

// store stands for a database whose writes carry the token.
type store struct{ newest uint64 }

func (s *store) write(token uint64, text string) error {
	if token < s.newest {
		return fmt.Errorf("refused: token %d is older than %d", token, s.newest)
	}
	s.newest = token
	fmt.Printf("token %d wrote %q\n", token, text)
	return nil
}

func main() {
	url := "local:"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	ctx := context.Background()
	locks, err := liblock.Open(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	slow, err := locks.Lock(ctx, "report", liblock.TTL(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	var reports store
	if err = reports.write(slow.Token(), "the first line"); err != nil {
		log.Fatal(err)
	}
	next, err := locks.Lock(ctx, "report", liblock.TTL(time.Minute)) // granted when the lease of the slow one ends
	if err != nil {
		log.Fatal(err)
	}
	if err = reports.write(next.Token(), "the second line"); err != nil {
		log.Fatal(err)
	}
	if err = reports.write(slow.Token(), "too late"); err == nil {
		log.Fatal("the older token was taken")
	}
	fmt.Println(err)
	if err = next.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
}
