// SPDX-License-Identifier: MIT

// redsync as a peer, over one server or several. See ../../README.md.
package main

import (
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"liblock/peers/contest"
)

type lock struct{ mutex *redsync.Mutex }

func (l lock) Acquire() { contest.Must(l.mutex.Lock()) }

func (l lock) Release() {
	if ok, err := l.mutex.Unlock(); !ok || err != nil {
		contest.Must(fmt.Errorf("unlock: %v %v", ok, err))
	}
}

func main() {
	c := contest.Read()
	var pools []redsyncredis.Pool
	for _, address := range c.Addresses {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: address})))
	}
	// Its 32 tries are raised, since a contest has no use for giving up; its delay between them is not.
	options := []redsync.Option{redsync.WithExpiry(10 * time.Second), redsync.WithTries(1 << 30)}
	if c.Delay >= 0 {
		options = append(options, redsync.WithRetryDelay(c.Delay))
	}
	maker := redsync.New(pools...)
	c.Hold(func() contest.Lock { return lock{maker.NewMutex(c.Key, options...)} })
}
