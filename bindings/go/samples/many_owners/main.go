// SPDX-License-Identifier: MIT

// Command many_owners lets owners meet: reentry, who holds what, a cycle of two who wait for each other.
//
//	go run ./samples/many_owners [URL]
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

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func take(locks *liblock.Context, key string, owner *liblock.Owner) *liblock.Lock {
	lock, err := locks.Lock(context.Background(), key, liblock.ByOwner(owner))
	must(err)
	return lock
}

func main() {
	url := "local:"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	ctx := context.Background()
	locks, err := liblock.Open(ctx, url)
	must(err)
	defer locks.Close()
	alice, err := locks.OpenOwner("alice")
	must(err)
	bob, err := locks.OpenOwner("bob")
	must(err)

	take(locks, "checking", alice)
	again := take(locks, "checking", alice)
	count, err := again.HoldCount()
	must(err)
	fmt.Println("alice holds checking", count, "times")
	take(locks, "savings", bob)

	// Alice waits for what Bob holds, and Bob asks for what Alice holds: one of the two waits must give way.
	waited := make(chan error, 2)
	ask := func(key string, owner *liblock.Owner) {
		_, err := locks.Lock(ctx, key, liblock.ByOwner(owner), liblock.Wait(20*time.Second))
		waited <- err
	}
	go ask("savings", alice)
	go ask("checking", bob)
	err = <-waited
	if !errors.Is(err, liblock.ErrDeadlock) {
		log.Fatal("no deadlock was found: ", err)
	}
	fmt.Println(err)
	must(alice.Close()) // gives back all that is hers: where Bob still waits he is granted it
	must(bob.Close())
	switch err = <-waited; {
	case err == nil:
		fmt.Println("Alice gave way, and Bob was granted checking")
	case errors.Is(err, liblock.ErrClosed):
		fmt.Println("Bob gave way, and Alice waited for savings until she closed")
	default:
		log.Fatal(err)
	}
}
