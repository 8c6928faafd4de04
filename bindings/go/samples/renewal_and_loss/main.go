// SPDX-License-Identifier: MIT

// Command renewal_and_loss keeps a short lease alive while it works, and stops working when the lock is taken away.
//
//	go run ./samples/renewal_and_loss [URL]
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

	lock, err := locks.Lock(ctx, "leader", liblock.TTL(200*time.Millisecond), liblock.Renew())
	if err != nil {
		log.Fatal(err)
	}
	held, cancel := lock.Context(ctx)
	defer cancel()
	time.Sleep(500 * time.Millisecond)
	fmt.Println("held after 500 ms with a lease of 200 ms:", lock.IsHeld())

	if err = locks.ForceRelease(ctx, "leader", 0); err != nil { // an administrator
		log.Fatal(err)
	}
	select {
	case <-held.Done():
		fmt.Println("the work under the lock was told to stop")
	case <-time.After(10 * time.Second):
		log.Fatal("the loss was never told")
	}
	if err = lock.Unlock(ctx); !errors.Is(err, liblock.ErrLost) {
		log.Fatal(err)
	}
	fmt.Println(err)
}
