// SPDX-License-Identifier: MIT

// Command conformance runs the scenarios of tests/conformance through the Go binding, as SPEC.md there says, and
// prints TAP: the equal of the runner for C.
//
//	conformance [--url URL] [--filter TEXT] [--list] [--selftest] [--census "total=60 order=20"] FILE…
//
// It ends with 0 when all passed, 1 when one failed or none ran, 2 when it could not run.
package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"liblock.dev/go/internal/raw"
)

type arguments struct {
	url, filter, census string
	list, selftest      bool
	files               []string
}

const usage = "usage: conformance [--url URL] [--filter TEXT] [--list] [--selftest] [--census CLAIMS] FILE...\n"

func readArguments(words []string) (arguments, bool) {
	a := arguments{url: "local:"}
	takers := map[string]*string{"--url": &a.url, "--filter": &a.filter, "--census": &a.census}
	flags := map[string]*bool{"--list": &a.list, "--selftest": &a.selftest}
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if flag, ok := flags[words[0]]; ok {
			*flag = true
			words = words[1:]
		} else if taker, ok := takers[words[0]]; ok && len(words) > 1 {
			*taker = words[1]
			words = words[2:]
		} else {
			return a, false
		}
	}
	a.files = words
	return a, len(words) > 0
}

func kindOf(url string) string {
	switch {
	case strings.HasPrefix(url, "local:"):
		return "local"
	case strings.HasPrefix(url, "quorum:"):
		return "quorum"
	}
	return "redis"
}

func printCause(s *scenario, out outcome) {
	if out.step > 0 {
		fmt.Printf("# %s: step %d of %d: %s\n", s.file, out.step, len(s.node.list("steps")), out.doing)
	} else {
		fmt.Printf("# %s: before the first step\n", s.file)
	}
	fmt.Printf("# %s\n", out.text)
}

// bites: a self-test scenario passes when the runner fails it, at the step and for the reason that it names. The causes
// are those of the runner for C, word for word.
func bites(s *scenario, out outcome) bool {
	step, isNumber := number(s.mustFail.get("step"))
	because, isText := s.mustFail.get("because").(string)
	if !isNumber || !isText {
		fmt.Println("# must_fail needs a step and a because")
		return false
	}
	if !out.isSet() {
		fmt.Printf("# passed, but must fail: %s\n", because)
		return false
	}
	if int(step) == out.step && strings.Contains(out.text, because) {
		return true
	}
	fmt.Printf("# must fail at step %d because of \"%s\", but:\n", step, because)
	printCause(s, out)
	return false
}

func runAll(s *suite, a arguments) int {
	planned, failed, others := 0, 0, 0
	kind := kindOf(a.url)
	for _, scenario := range s.scenarios {
		switch {
		case !strings.Contains(scenario.name, a.filter):
			continue
		case !scenario.holds(kind):
			others++
			continue
		}
		planned++
		if a.list {
			fmt.Printf("%s (%s)\n", scenario.name, scenario.file)
			continue
		}
		out := scenario.run(a.url)
		passed, word := !out.isSet(), "ok"
		if a.selftest {
			passed = bites(scenario, out)
		}
		if !passed {
			failed++
			word = "not ok"
		}
		fmt.Printf("%s %d - %s\n", word, planned, scenario.name)
		if !passed && !a.selftest {
			printCause(scenario, out)
		}
	}
	if a.list {
		return 0
	}
	fmt.Printf("1..%d\n# %d passed, %d failed, on %s; %d hold on other contexts only\n", planned, planned-failed,
		failed, kind, others)
	if failed > 0 || planned == 0 {
		return 1
	}
	return 0
}

var claim = regexp.MustCompile(`^ *([a-z]+)=([0-9]+)`)

// census: "order=20" claims that at least so many scenarios carry the tag; "total" counts all.
func census(s *suite, claims, kind string) int {
	count, failed := 0, 0
	for match := claim.FindStringSubmatch(claims); match != nil; match = claim.FindStringSubmatch(claims) {
		claims = claims[len(match[0]):]
		wanted, _ := strconv.Atoi(match[2])
		found := 0
		for _, scenario := range s.scenarios {
			if !scenario.isSet() && scenario.holds(kind) && (match[1] == "total" || tagged(scenario.node, match[1])) {
				found++
			}
		}
		count++
		word := "ok"
		if found < wanted {
			failed++
			word = "not ok"
		}
		fmt.Printf("%s %d - %s: %d scenarios of at least %d\n", word, count, match[1], found, wanted)
	}
	fmt.Printf("1..%d\n", count)
	if claims != "" {
		fmt.Printf("# not understood: %s\n", claims)
	}
	if failed > 0 || count == 0 || claims != "" {
		return 1
	}
	return 0
}

// The main thread, which never ends, is the owner THREAD of the steps that name no thread, and of no others.
func init() { runtime.LockOSThread() }

func main() {
	a, ok := readArguments(os.Args[1:])
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	raw.FillWithRubbish(true)
	s := &suite{}
	for _, file := range a.files {
		s.load(file, a.selftest)
	}
	if a.census != "" {
		os.Exit(census(s, a.census, kindOf(a.url)))
	}
	os.Exit(runAll(s, a))
}
