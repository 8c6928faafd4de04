// SPDX-License-Identifier: MIT

// Command timeout shows the three ends of a wait that is not to last: a limit of its own, a deadline, a cancellation.
//
//	go run ./samples/timeout [URL]
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	liblock "liblock.dev/go"
)

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
	held, err := locks.Lock(ctx, "printer")
	if err != nil {
		log.Fatal(err)
	}

	_, err = locks.Lock(ctx, "printer", liblock.Wait(50*time.Millisecond))
	expect(err, liblock.ErrTimeout)

	deadline, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	_, err = locks.Lock(deadline, "printer")
	cancel()
	expect(err, context.DeadlineExceeded)

	canceled, cancel := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = locks.Lock(canceled, "printer")
	expect(err, context.Canceled)

	if err = held.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("nobody waits any more, the printer is free")
}

func expect(err, wanted error) {
	if !errors.Is(err, wanted) {
		log.Fatalf("got %v, want %v", err, wanted)
	}
	fmt.Println(err)
}
