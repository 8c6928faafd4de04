// SPDX-License-Identifier: MIT

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
			" priority on_open_calls globals queues cleared_keys dequeued held_for_ms initial_ttl_ms" + counters: isNumber,
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
	" canceled deadlocks deadlock_searches renewals sweeps sweep_entries sweep_entries_per_hold_max dropped_notices"

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

// ------------------------------------------------------------------------------------------------ comparison

func (w *world) operand(node interface{}) (int64, error) {
	if n, ok := number(node); ok {
		return n, nil
	}
	name, _ := node.(string)
	if hold := w.holds[name]; hold != nil && hold.token != 0 {
		return int64(hold.token), nil
	}
	return 0, fmt.Errorf("no token of \"%s\" is known", name)
}

func compare(comparison string, got, operand int64) bool {
	switch comparison {
	case "eq":
		return got == operand
	case "ne":
		return got != operand
	case "gt":
		return got > operand
	case "ge":
		return got >= operand
	case "lt":
		return got < operand
	}
	return got <= operand
}

func (w *world) numberMatch(expect, got interface{}) (bool, error) {
	n, ok := number(got)
	if !ok {
		return false, nil
	}
	if wanted, ok := number(expect); ok {
		return n == wanted, nil
	}
	o := expect.(*object)
	for _, comparison := range o.names {
		operand, err := w.operand(o.fields[comparison])
		if err != nil || !compare(comparison, n, operand) {
			return false, err
		}
	}
	return true, nil
}

func has(list []interface{}, value interface{}) bool {
	for _, item := range list {
		if equal(item, value) {
			return true
		}
	}
	return false
}

func flagsMatch(expect, got interface{}) bool {
	told, _ := got.([]interface{})
	exact, isExact := expect.([]interface{})
	wanted, lacks := exact, []interface{}(nil)
	if !isExact {
		wanted, lacks = expect.(*object).list("has"), expect.(*object).list("lacks")
	}
	for _, flag := range wanted {
		if !has(told, flag) {
			return false
		}
	}
	for _, flag := range lacks {
		if has(told, flag) {
			return false
		}
	}
	return !isExact || len(exact) == len(told)
}

func bytesMatch(expect, got interface{}) bool {
	data, err := bytesOf(expect)
	return err == nil && equal(bytesShown(data), got)
}

// listMatch compares as multisets: listings promise no order, and a key that is shown twice must not pass.
func listMatch(expect, got interface{}) bool {
	wanted, told := expect.([]interface{}), append([]interface{}{}, got.([]interface{})...)
	if len(wanted) != len(told) {
		return false
	}
	for _, item := range wanted {
		at := 0
		for at < len(told) && !bytesMatch(item, told[at]) {
			at++
		}
		if at == len(told) {
			return false
		}
		told = append(told[:at], told[at+1:]...)
	}
	return true
}

func metadataMatch(expect, got interface{}) bool {
	wanted, told := expect.(*object), got.(*object)
	if len(wanted.names) != len(told.names) {
		return false
	}
	for _, name := range wanted.names {
		if !told.has(name) || !bytesMatch(wanted.fields[name], told.fields[name]) {
			return false
		}
	}
	return true
}

func (w *world) identityMatch(k kind, name string, got interface{}) (bool, error) {
	if owner := w.owners[name]; k == isOwner && owner != nil {
		return got == owner.identity, nil
	}
	if slot := w.contexts[name]; k == isInstance && slot != nil {
		return got == slot.instance, nil
	}
	return false, fmt.Errorf("no owner or context is named \"%s\"", name)
}

func (w *world) waitersMatch(expect, got interface{}) (bool, error) {
	wanted, told := expect.([]interface{}), got.([]interface{})
	if len(wanted) != len(told) {
		return false, nil
	}
	for i := range wanted {
		waiter := wanted[i].(*object)
		for _, name := range waiter.names {
			matches, err := w.valueMatch(name, waiter.fields[name], told[i].(*object).get(name))
			if err != nil || !matches {
				return false, err
			}
		}
	}
	return true, nil
}

func (w *world) valueMatch(name string, expect, got interface{}) (bool, error) {
	if got == nil {
		return false, nil
	}
	switch k := kinds[name]; k {
	case isNumber:
		return w.numberMatch(expect, got)
	case isStatus:
		if list, ok := expect.([]interface{}); ok {
			return has(list, got), nil
		}
		return equal(expect, got), nil
	case isFlags:
		return flagsMatch(expect, got), nil
	case isBytes:
		return bytesMatch(expect, got), nil
	case isBytesList:
		return listMatch(expect, got), nil
	case isMetadata:
		return metadataMatch(expect, got), nil
	case isWaiters:
		return w.waitersMatch(expect, got)
	case isOwner, isInstance:
		return w.identityMatch(k, expect.(string), got)
	}
	return equal(expect, got), nil
}

// expectMatch compares all of an expectation; a missing status expects OK.
func (w *world) expectMatch(expect, got *object) error {
	if expect == nil {
		expect = newObject()
	}
	names, values := expect.names, expect.fields
	if got.has("status") && !expect.has("status") {
		names = append([]string{"status"}, names...)
		values = map[string]interface{}{"status": "OK"}
		for name, value := range expect.fields {
			values[name] = value
		}
	}
	for _, name := range names {
		told := got.get(name)
		matches, err := w.valueMatch(name, values[name], told)
		if err != nil {
			return err
		}
		if matches {
			continue
		}
		shown := "nothing"
		if told != nil {
			shown = line(told)
		}
		return fmt.Errorf("expected %s %s, got %s; the call told %s", name, line(values[name]), shown, line(got))
	}
	return nil
}
