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

// A wait ends with its context; what the error is tells whose fault that was, and, if asked for, who was in the way.
func ExampleError() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	held, err := locks.Lock(ctx, "invoice/4711", liblock.Value([]byte("worker 7")))
	if err != nil {
		log.Fatal(err)
	}
	defer held.Unlock(ctx)

	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = locks.Lock(short, "invoice/4711")
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, liblock.ErrCanceled))

	_, err = locks.Lock(ctx, "invoice/4711", liblock.Wait(10*time.Millisecond), liblock.BusyInfo())
	var failure *liblock.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Status.Name(), liblock.IsRetryable(err), string(failure.Busy.Value))
	}
	// Output:
	// true true
	// TIMEOUT true worker 7
}

func ExampleLock_Lost() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, "invoice/4711", liblock.TTL(10*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-lock.Lost() // in a select beside the work; or work under lock.Context(ctx), which ends then
	fmt.Println(errors.Is(lock.Held(), liblock.ErrLost), errors.Is(lock.Unlock(ctx), liblock.ErrLost))
	// Output: true true
}

func ExampleContext_Inspect() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "local:")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	_, err = locks.Inspect(ctx, "invoice/4711")
	fmt.Println("free:", errors.Is(err, liblock.ErrNotHeld))
	lock, err := locks.Lock(ctx, "invoice/4711", liblock.Value([]byte("worker 7")))
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Unlock(ctx)
	info, err := locks.InspectQueue(ctx, "invoice/4711")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held by", string(info.Value), "while", len(info.Waiters), "wait")
	// Output:
	// free: true
	// held by worker 7 while 0 wait
}

// Three new servers are made one quorum, once; whoever opens them later leaves QuorumInit out.
func ExampleContext_QuorumInit() {
	ctx := context.Background()
	locks, err := liblock.Open(ctx, "quorum:redis://a.example,redis://b.example,redis://c.example")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	if err = locks.QuorumInit(ctx, 0); err != nil {
		log.Fatal(err) // ErrNodesMismatch: it was made before
	}
	state, nodes, wrong, err := locks.QuorumStatus()
	fmt.Println(state.Voting, "of", len(nodes), "nodes vote", wrong, err)
}
