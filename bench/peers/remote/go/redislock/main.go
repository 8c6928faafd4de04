// SPDX-License-Identifier: MIT

// bsm/redislock as a peer. It comes without a retry; its documentation shows one every 100 ms. See ../../README.md.
package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"liblock/peers/contest"
)

const documentedDelay = 100 * time.Millisecond

type lock struct {
	client *redislock.Client
	key    string
	delay  time.Duration
	held   *redislock.Lock
}

func (l *lock) Acquire() {
	// Without a deadline of its own it would wait for as long as the lock lives, and no longer.
	until, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(l.delay)}
	held, err := l.client.Obtain(until, l.key, 10*time.Second, options)
	contest.Must(err)
	l.held = held
}

func (l *lock) Release() { contest.Must(l.held.Release(context.Background())) }

func main() {
	c := contest.Read()
	delay := c.Delay
	if delay < 0 {
		delay = documentedDelay
	}
	client := redislock.New(redis.NewClient(&redis.Options{Addr: c.Addresses[0]}))
	c.Hold(func() contest.Lock { return &lock{client: client, key: c.Key, delay: delay} })
}
