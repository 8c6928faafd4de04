// SPDX-License-Identifier: MIT

package main

import "fmt"

// Comparing what a step expects with what the call told; expect.go says how expectations are written.

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
