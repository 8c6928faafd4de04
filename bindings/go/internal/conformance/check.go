// SPDX-License-Identifier: MIT
// What a runner checks unasked: results, tokens, ends.

package main

import (
	"fmt"
	"strings"
)

// The static check of a scenario, before any of it runs: running a malformed one could pass by accident, so nothing is
// passed over here, and tags claim no more than the steps do.
const (
	scenarioFields = "name contexts tags context steps note must_fail"
	commonFields   = "do context thread background expect note"
	endTells       = "kind request lock status token remaining_ms waited_ms"
	tagWords       = "order lost cancel close"
	textFields     = "do context as space url lock request owner thread of name instance note"
	truthFields    = "background global add drop_queue any_order"
	numberFields   = "wait_ms ms waiters batch_size dead_ttl_ms"
	bytesFields    = "key value prefix"
)

func endsCheck(node interface{}) error {
	ends, _ := node.([]interface{})
	if len(ends) == 0 {
		return fmt.Errorf("\"ends\" takes a list of at least one end")
	}
	for _, item := range ends {
		if err := expectCheck(item, endTells); err != nil {
			return err
		}
		end := item.(*object)
		if end.has("request") == end.has("lock") {
			return fmt.Errorf("an end names a request, or a lock that is lost: %s", line(end))
		}
	}
	return nil
}

func keysCheck(node interface{}) error {
	keys, ok := node.([]interface{})
	if !ok {
		return fmt.Errorf("\"keys\" takes a list")
	}
	for _, key := range keys {
		if _, err := bytesOf(key); err != nil {
			return err
		}
	}
	return nil
}

func optionsCheck(verb string, node interface{}) (err error) {
	if verb == "open" {
		_, _, err = openOptions(node)
	} else {
		_, _, err = lockOptions(node)
	}
	return err
}

func fieldCheck(word string, v *verb, name string, value interface{}) (err error) {
	fits := true
	switch {
	case wordIn(textFields, name):
		_, fits = value.(string)
	case wordIn(truthFields, name):
		_, fits = value.(bool)
	case wordIn(numberFields, name):
		_, fits = number(value)
	case wordIn(bytesFields, name):
		_, err = bytesOf(value)
	case name == "ttl_ms":
		_, err = ttlOf(value)
	case name == "keys":
		err = keysCheck(value)
	case name == "ends":
		err = endsCheck(value)
	case name == "expect":
		err = expectCheck(value, v.tells)
	case name == "options":
		err = optionsCheck(word, value)
	}
	if !fits {
		return fmt.Errorf("field \"%s\" is of another type: %s", name, line(value))
	}
	return err
}

func stepCheck(node interface{}) error {
	step, _ := node.(*object)
	word := step.text("do")
	v := verbs[word]
	if v == nil {
		return fmt.Errorf("unknown verb: %s", line(node))
	}
	for _, name := range step.names {
		if !wordIn(commonFields, name) && !wordIn(v.needs, name) && !wordIn(v.allows, name) {
			return fmt.Errorf("unknown field \"%s\" in %s", name, line(step))
		}
		if err := fieldCheck(word, v, name, step.fields[name]); err != nil {
			return err
		}
	}
	for _, name := range strings.Fields(v.needs) {
		if !step.has(name) {
			return fmt.Errorf("field \"%s\" is missing", name)
		}
	}
	if step.has("thread") && v.mainOnly {
		return fmt.Errorf("\"%s\" cannot be given to a thread", word)
	}
	if step.has("background") && !step.has("thread") {
		return fmt.Errorf("\"background\" needs a \"thread\"")
	}
	targets := 0
	for _, name := range []string{"key", "keys", "global"} {
		if step.has(name) {
			targets++
		}
	}
	if wordIn(v.allows, "keys") && targets != 1 {
		return fmt.Errorf("an acquire takes one of key, keys and global: %s", line(step))
	}
	return nil
}

// ------------------------------------------------------------------------------------------------------ tags

func expectsStatus(step *object, status string) bool {
	for _, end := range step.list("ends") {
		if end.(*object).text("status") == status {
			return true
		}
	}
	expect, _ := step.get("expect").(*object)
	return expect.text("status") == status
}

// grantsInOrder counts grants that are awaited one after the other.
func grantsInOrder(step *object) (grants int) {
	if step.isTrue("any_order") {
		return 0
	}
	for _, item := range step.list("ends") {
		end := item.(*object)
		if end.has("request") && (!end.has("status") || end.text("status") == "OK") {
			grants++
		}
	}
	return grants
}

func tagHolds(scenario *object, tag string) bool {
	grants := 0
	var lost, cancels, closes, closed bool
	for _, item := range scenario.list("steps") {
		step := item.(*object)
		grants += grantsInOrder(step)
		lost = lost || expectsStatus(step, "LOST")
		closed = closed || expectsStatus(step, "CLOSED")
		cancels = cancels || step.text("do") == "cancel"
		closes = closes || step.text("do") == "close" || step.text("do") == "close_async"
	}
	switch tag {
	case "order":
		return grants >= 2
	case "lost":
		return lost
	case "cancel":
		return cancels
	}
	return closes && closed
}

func tagged(scenario *object, tag string) bool { return has(scenario.list("tags"), tag) }

func tagsCheck(scenario *object) error {
	if !scenario.has("tags") {
		return nil
	}
	list, ok := scenario.get("tags").([]interface{})
	if !ok {
		return fmt.Errorf("\"tags\" takes a list")
	}
	for _, item := range list {
		tag, _ := item.(string)
		if !wordIn(tagWords, tag) {
			return fmt.Errorf("unknown tag")
		}
		if !tagHolds(scenario, tag) {
			return fmt.Errorf("tag \"%s\" claims what the steps do not do", tag)
		}
	}
	return nil
}

// -------------------------------------------------------------------------------------------------- scenario

func headCheck(scenario *object, selftest bool) error {
	for _, name := range scenario.names {
		if !wordIn(scenarioFields, name) || name == "must_fail" && !selftest {
			return fmt.Errorf("unknown field \"%s\" of a scenario", name)
		}
	}
	name := scenario.text("name")
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("a scenario's name is made of a-z, 0-9 and _")
	}
	contexts := scenario.list("contexts")
	if len(contexts) == 0 {
		return fmt.Errorf("\"contexts\" says where the scenario holds")
	}
	for _, item := range contexts {
		if word, _ := item.(string); !wordIn("local redis quorum", word) {
			return fmt.Errorf("unknown context kind")
		}
	}
	if context := scenario.get("context"); context != nil {
		if _, _, err := openOptions(context); err != nil {
			return err
		}
	}
	if len(scenario.list("steps")) == 0 {
		return fmt.Errorf("a scenario has steps")
	}
	return nil
}

func scenarioCheck(node interface{}, selftest bool) error {
	scenario, ok := node.(*object)
	if !ok {
		return fmt.Errorf("a scenario is an object")
	}
	if err := headCheck(scenario, selftest); err != nil {
		return err
	}
	for i, step := range scenario.list("steps") {
		if err := stepCheck(step); err != nil {
			return fmt.Errorf("malformed step %d: %w", i+1, err)
		}
	}
	return tagsCheck(scenario)
}
