// SPDX-License-Identifier: MIT
// Files, scenarios and their claims.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Files of scenarios, and running one of them. One scenario's world is gone before the next begins; a scenario that
// hangs ends the whole run, naming the step, since what it left behind could spoil all later ones.
const (
	schemaVersion = 1
	alarmAfter    = 30 * time.Second
)

type scenario struct {
	fault    // why it is malformed
	file     string
	name     string // of the scenario, or of its file where the file cannot be read
	node     *object
	mustFail *object
}

type outcome struct {
	fault
	step  int    // 1-based; 0 = malformed; one more than there are steps = at the end
	doing string // the step as written
}

type suite struct{ scenarios []*scenario }

func headRead(root *object, selftest bool) error {
	if root == nil {
		return fmt.Errorf("a file is an object")
	}
	for _, name := range root.names {
		if !wordIn("schema about scenarios", name) && !(selftest && name == "must_fail") {
			return fmt.Errorf("unknown field \"%s\" of a file", name)
		}
	}
	if schema, ok := number(root.get("schema")); !ok || schema != schemaVersion {
		return fmt.Errorf("this runner reads schema %d only", schemaVersion)
	}
	if _, ok := root.get("about").(string); !ok {
		return fmt.Errorf("\"about\" says what the file is for")
	}
	if len(root.list("scenarios")) == 0 {
		return fmt.Errorf("the file has no scenarios")
	}
	return nil
}

// load reads a file; one that cannot be read becomes one malformed scenario, so that it fails loudly.
func (s *suite) load(path string, selftest bool) {
	file := filepath.Base(path)
	data, err := os.ReadFile(path)
	var root *object
	if err == nil {
		var value interface{}
		value, err = parse(data)
		root, _ = value.(*object)
	}
	if err == nil {
		err = headRead(root, selftest)
	}
	if err != nil {
		broken := &scenario{file: file, name: file}
		broken.mustFail, _ = root.get("must_fail").(*object)
		broken.blame("%s", err)
		s.scenarios = append(s.scenarios, broken)
		return
	}
	for _, item := range root.list("scenarios") {
		node, _ := item.(*object)
		added := &scenario{file: file, name: node.text("name"), node: node}
		if added.name == "" {
			added.name = "(no name)"
		}
		added.mustFail, _ = node.get("must_fail").(*object)
		if err := scenarioCheck(item, selftest); err != nil {
			added.blame("%s", err)
		}
		for _, other := range s.scenarios {
			if other.name == added.name {
				added.blame("the name is taken by %s", other.file)
			}
		}
		s.scenarios = append(s.scenarios, added)
	}
}

// holds says whether the scenario is for contexts of this kind: "local", "redis" or "quorum".
func (s *scenario) holds(kind string) bool { return s.isSet() || has(s.node.list("contexts"), kind) }

func (w *world) run(step *object, number int) {
	c := w.prepare(step, number)
	if !c.isSet() {
		if thread := step.text("thread"); thread == "" {
			c.verb.perform(c)
		} else if !w.actorRun(thread, c) {
			return
		}
	}
	c.settle()
}

// openFirst: "context": null opens nothing; anything else opens the context "c" as an open step would.
func (w *world) openFirst(node *object) {
	options := node.get("context")
	if node.has("context") && options == nil {
		return
	}
	step := newObject().set("do", "open").set("as", "c")
	if options != nil {
		step.set("options", options)
	}
	w.run(step, 0)
}

func watch(name string, step int) *time.Timer {
	return time.AfterFunc(alarmAfter, func() {
		fmt.Printf("Bail out! %.200s hangs at step %d\n", name, step)
		os.Exit(2)
	})
}

func (s *scenario) run(url string) outcome {
	var out outcome
	if s.isSet() {
		out.fault = s.fault
		return out
	}
	w := newWorld(url)
	steps := s.node.list("steps")
	alarm := watch(s.name, 0)
	w.openFirst(s.node)
	for !w.isSet() && out.step < len(steps) {
		step := steps[out.step].(*object)
		out.step++
		alarm.Stop()
		alarm = watch(s.name, out.step)
		out.doing = line(step)
		w.run(step, out.step)
	}
	failed := w.isSet()
	alarm.Stop()
	alarm = watch(s.name, len(steps)+1)
	w.end()
	alarm.Stop()
	out.fault = w.fault
	if w.isSet() && !failed {
		out.step, out.doing = len(steps)+1, "(the end)"
	}
	return out
}
