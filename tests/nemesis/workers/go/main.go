// SPDX-License-Identifier: MIT

// Command worker is tests/integration/client.c, the careful one, in Go: locks, works at the resource, writes down what
// it does. The same words, and files in the format of client_record.c.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"

	liblock "liblock.dev/go"
)

type worker struct {
	locks           *liblock.Context
	record          *record
	dice            *rand.Rand
	keys            int
	maxTTL, maxHold time.Duration
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func milliseconds(text string) time.Duration { return time.Duration(number(text)) * time.Millisecond }

// upTo is a random time below the limit.
func (w *worker) upTo(limit time.Duration) time.Duration {
	return time.Duration(w.dice.Int63n(int64(limit) + 1))
}

func (w *worker) options() []liblock.LockOption {
	wait := time.Duration(0)
	if w.dice.Intn(4) > 0 {
		wait = 100*time.Millisecond + w.upTo(1500*time.Millisecond)
	}
	options := []liblock.LockOption{liblock.Wait(wait)}
	if w.dice.Intn(3) == 0 {
		options = append(options, liblock.TTL(100*time.Millisecond+w.upTo(w.maxTTL-100*time.Millisecond)))
		if w.dice.Intn(2) == 0 {
			options = append(options, liblock.Renew())
		}
	}
	if w.dice.Intn(8) == 0 {
		options = append(options, liblock.InOrder(liblock.AnyOrder))
	}
	return options
}

func statusOf(err error) int {
	var failure *liblock.Error
	if errors.As(err, &failure) {
		return int(failure.Status)
	}
	if err != nil {
		log.Fatal(err)
	}
	return 0
}

// stillHolds notes the moment before the look when the look confirms it.
func (w *worker) stillHolds(lock *liblock.Lock) bool {
	now := nowNs()
	if !lock.IsHeld() {
		return false
	}
	w.record.until(now)
	return true
}

func (w *worker) work(lock *liblock.Lock, key int) {
	if !w.stillHolds(lock) {
		return
	}
	value, allowed := w.record.visit(key, lock.Token(), nil)
	limit := w.maxHold
	if w.dice.Intn(4) == 0 {
		limit *= 30
	}
	end := time.Now().Add(w.upTo(limit))
	holds := true
	for holds && time.Now().Before(end) {
		time.Sleep(200*time.Microsecond + w.upTo(800*time.Microsecond))
		holds = w.stillHolds(lock)
	}
	if holds && allowed {
		value++
		w.record.visit(key, lock.Token(), &value)
	}
	w.stillHolds(lock)
}

func (w *worker) lockOnce() {
	key := w.dice.Intn(w.keys)
	w.record.asking(key)
	lock, err := w.locks.Lock(context.Background(), fmt.Sprintf("k%d", key), w.options()...)
	if err != nil {
		w.record.ended(statusOf(err))
		return
	}
	w.record.holding(lock.Token())
	w.work(lock, key)
	w.record.releasing()
	w.record.ended(statusOf(lock.Unlock(context.Background())))
}

func main() {
	if len(os.Args) != 11 || os.Args[7] != "careful" {
		log.Fatal("usage: worker URL NAME DIRECTORY KEYS MAX_TTL_MS HOLD_MS careful SEED VOTES TIMEOUT_MS")
	}
	words := os.Args[1:]
	stop := filepath.Join(words[2], "stop")
	shouldStop := func() bool { _, err := os.Stat(stop); return err == nil }
	timeout := milliseconds(words[9])
	w := &worker{record: openRecord(words[2], words[1]), dice: rand.New(rand.NewSource(int64(number(words[7])))),
		keys: number(words[3]), maxTTL: milliseconds(words[4]), maxHold: milliseconds(words[5])}
	for w.locks == nil {
		locks, err := liblock.Open(context.Background(), words[0], liblock.MaxTTL(w.maxTTL), liblock.ClientName(words[1]),
			liblock.Timeouts(timeout, timeout, 600*time.Millisecond), liblock.Votes(int32(number(words[8]))))
		if err == nil {
			w.locks = locks
		} else if shouldStop() {
			return
		} else {
			time.Sleep(50 * time.Millisecond)
		}
	}
	for !shouldStop() {
		w.lockOnce()
		time.Sleep(w.upTo(5 * time.Millisecond))
	}
	if err := w.locks.Close(); err != nil {
		log.Fatal(err)
	}
}
