// SPDX-License-Identifier: MIT

// Command basic takes one lock, shows that nobody else gets it, and gives it back.
//
//	go run ./samples/basic [URL]
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

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

	lock, err := locks.Lock(ctx, "invoice/4711")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", lock.IsHeld())
	if _, err = locks.TryLock(ctx, "invoice/4711"); !errors.Is(err, liblock.ErrBusy) {
		log.Fatal("two holders of one key: ", err)
	}
	fmt.Println("a second holder:", err)
	if err = lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	err = locks.WithLock(ctx, "invoice/4711", func(held context.Context) error {
		fmt.Println("held again, until this function returns")
		return held.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("free")
}
