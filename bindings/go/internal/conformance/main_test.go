// SPDX-License-Identifier: MIT
// The scenarios and self-tests as a Go test.

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"liblock.dev/go/internal/raw"
)

var folder = filepath.Join("..", "..", "..", "..", "tests", "conformance")

func loaded(t *testing.T, selftest bool, pattern string) *suite {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) == 0 {
		t.Fatal("the scenarios are part of the repository, not of the module: ", err)
	}
	s := &suite{}
	for _, file := range files {
		if base := filepath.Base(file); base != "plain_failure.json" && base != "malformed_json.json" {
			s.load(file, selftest) // those two are for check_runner.py
		}
	}
	return s
}

func TestTheScenariosHoldOnALocalContext(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	raw.FillWithRubbish(true)
	defer raw.FillWithRubbish(false)
	ran := 0
	for _, scenario := range loaded(t, false, "scenarios/*.json").scenarios {
		if !scenario.holds("local") {
			continue
		}
		ran++
		if out := scenario.run("local:"); out.isSet() {
			t.Errorf("%s: step %d: %s", scenario.name, out.step, out.text)
		}
	}
	if ran < 150 {
		t.Fatalf("only %d scenarios ran", ran)
	}
}

func TestTheRunnerFailsWhatMustFail(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ran := 0
	for _, scenario := range loaded(t, true, "selftest/*.json").scenarios {
		ran++
		if !bites(scenario, scenario.run("local:")) {
			t.Errorf("%s does not fail as it must", scenario.name)
		}
	}
	if ran < 50 {
		t.Fatalf("only %d scenarios ran", ran)
	}
}

func TestAFileThatIsBrokenFailsAsAScenario(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	for text, cause := range map[string]string{
		`{"schema": 1, "schema": 1}`: "duplicate",
		`[`:                          "line 1",
		`{} {}`:                      "behind the end",
		`[1]`:                        "a file is an object",
		`{"schema": 1, "about": "", "scenarios": []}`: "no scenarios",
	} {
		if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &suite{}
		s.load(broken, false)
		if len(s.scenarios) != 1 || !strings.Contains(s.scenarios[0].text, cause) {
			t.Errorf("%s: %+v, want %s", text, s.scenarios, cause)
		}
	}
}

func TestACensusThatIsNotMetFails(t *testing.T) {
	s := loaded(t, false, "scenarios/*.json")
	for claims, wanted := range map[string]int{
		"total=60 order=20 lost=8 cancel=8 close=4": 0, "total=100000": 1, "total=1 order=many": 1, "": 1,
	} {
		if got := census(s, claims, "local"); got != wanted {
			t.Errorf("%q ends with %d, want %d", claims, got, wanted)
		}
	}
}
