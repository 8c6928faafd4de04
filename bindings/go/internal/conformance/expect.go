// SPDX-License-Identifier: MIT
// Expectations of a step against what it told.

package main

import (
	"fmt"
	"strings"

	liblock "liblock.dev/go"
)

// Each expectation has one type wherever it appears; the type says how it is written and compared. One that cannot be
// compared is a fault: none is passed over.
type kind int

const (
	isNumber kind = iota + 1
	isStatus
	isTruth
	isFlags
	isBytes
	isBytesList
	isOwner
	isInstance
	isMetadata
	isWaiters
	isName
)

var kinds = func() map[string]kind {
	all := map[string]kind{}
	for words, k := range map[string]kind{
		"token attempts waited_ms remaining_ms queue_position queue_length hold_count votes nodes count waiter_count" +
			" priority on_open_calls globals queues cleared_keys dequeued held_for_ms" +
			" initial_ttl_ms" + counters: isNumber,
		"status": isStatus, "locked queued held global zombie": isTruth, "flags": isFlags, "key value": isBytes,
		"keys": isBytesList, "owner": isOwner, "instance": isInstance, "metadata": isMetadata, "queue": isWaiters,
		"request lock kind order": isName,
	} {
		for _, word := range strings.Fields(words) {
			all[word] = k
		}
	}
	return all
}()

const counters = " locks_held waiters acquired released contended handed_off expired taken_away taken_over timeouts" +
	" canceled deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max dropped_notices" +
	" passed_on"

const (
	comparisons = "eq ne gt ge lt le"
	flagWords   = "REENTERED WAITED TOOK_OVER HAD_LOCK HAD_QUEUE"
	waiterWords = "owner instance order priority waited_ms"
)

// The statuses by name, as the library has them.
var statuses = func() map[string]liblock.Status {
	all := map[string]liblock.Status{}
	for number := liblock.Status(0); number < 256; number++ {
		if name := number.Name(); name != "UNKNOWN" {
			all[name] = number
		}
	}
	return all
}()

// ---------------------------------------------------------------------------------------------- static check

func wordsCheck(node interface{}, known func(string) bool, least int) bool {
	list, ok := node.([]interface{})
	if !ok || len(list) < least {
		return false
	}
	for _, item := range list {
		word, ok := item.(string)
		if !ok || !known(word) {
			return false
		}
	}
	return true
}

func numberCheck(expect interface{}) bool {
	if _, ok := number(expect); ok {
		return true
	}
	o, ok := expect.(*object)
	if !ok || len(o.names) == 0 {
		return false
	}
	for _, name := range o.names {
		_, isText := o.fields[name].(string)
		_, isWhole := number(o.fields[name])
		if !wordIn(comparisons, name) || !isText && !isWhole {
			return false
		}
	}
	return true
}

func flagsCheck(expect interface{}) bool {
	known := func(word string) bool { return wordIn(flagWords, word) }
	o, ok := expect.(*object)
	if !ok {
		return wordsCheck(expect, known, 0)
	}
	for _, name := range o.names {
		if !wordIn("has lacks", name) || !wordsCheck(o.fields[name], known, 0) {
			return false
		}
	}
	return len(o.names) > 0
}

func statusCheck(expect interface{}) bool {
	known := func(word string) bool { _, ok := statuses[word]; return ok }
	if word, ok := expect.(string); ok {
		return known(word)
	}
	return wordsCheck(expect, known, 2)
}

func listCheck(expect interface{}) bool {
	list, ok := expect.([]interface{})
	for _, item := range list {
		if _, err := bytesOf(item); err != nil {
			return false
		}
	}
	return ok
}

func waitersCheck(expect interface{}) bool {
	list, ok := expect.([]interface{})
	for _, item := range list {
		if expectCheck(item, waiterWords) != nil {
			return false
		}
	}
	return ok
}

func valueCheck(k kind, expect interface{}) bool {
	switch k {
	case isNumber:
		return numberCheck(expect)
	case isStatus:
		return statusCheck(expect)
	case isTruth:
		_, ok := expect.(bool)
		return ok
	case isFlags:
		return flagsCheck(expect)
	case isBytes:
		_, err := bytesOf(expect)
		return err == nil
	case isBytesList:
		return listCheck(expect)
	case isMetadata:
		_, ok := expect.(*object)
		return ok
	case isWaiters:
		return waitersCheck(expect)
	}
	_, ok := expect.(string)
	return ok
}

// expectCheck says, before anything runs, whether every expectation is known, among tells, and written as its type is.
func expectCheck(node interface{}, tells string) error {
	expect, ok := node.(*object)
	if !ok {
		return fmt.Errorf("an expectation is an object")
	}
	for _, name := range expect.names {
		k, known := kinds[name]
		if !known || !wordIn(tells, name) {
			return fmt.Errorf("unknown expectation \"%s\"", name)
		}
		if !valueCheck(k, expect.fields[name]) {
			return fmt.Errorf("malformed expectation \"%s\": %s", name, line(expect.fields[name]))
		}
	}
	return nil
}
