// SPDX-License-Identifier: MIT
// Examples that the documentation shows and the tests run.

package liblock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	liblock "liblock.dev/go"
)

func ExampleContext_Lock() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, "invoice/4711", liblock.TTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	_, err = locks.TryLock(ctx, "invoice/4711")
	fmt.Println(errors.Is(err, liblock.ErrBusy))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// true
	// <nil>
}

func ExampleContext_WithLock() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locks.WithLock(ctx, "invoice/4711", func(held context.Context) error {
		fmt.Println("nobody else is here")
		return held.Err() // held ends when the lock is lost
	})
	fmt.Println(err)
	// Output:
	// nobody else is here
	// <nil>
}
