// SPDX-License-Identifier: MIT

// Command judge asks Porcupine, which is nobody's of this project, whether a history of locks can have been: whether
// there is a moment within each acquire and within each release, so that in the order of those moments a key was taken
// only when it was free, and each time with a larger token than before.
//
//	judge mutex|tokens SECONDS < history
//
// The history has a line for each time that somebody certainly held: KEY TOKEN ASKED BEGIN UNTIL ENDED, in ns. Taken
// between ASKED and BEGIN, given back between UNTIL and ENDED, or at any time after UNTIL where ENDED is -1. With
// tokens a key need not be free: only the tokens are judged. Status 1: no; 2: a line that is none; 3: out of time.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// step is one end of a hold; both carry its token.
type step struct {
	key    string
	token  uint64
	isFree bool // it gives back
}

// held is what a key is at a moment: the token of its holder, 0 = none, and the largest there was.
type held struct{ by, largest uint64 }

func model(needsFree bool) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, operation := range history {
				key := operation.Input.(step).key
				byKey[key] = append(byKey[key], operation)
			}
			parts := make([][]porcupine.Operation, 0, len(byKey))
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() interface{} { return held{} },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			now, asked := state.(held), input.(step)
			if asked.isFree {
				return now.by == asked.token, held{0, now.largest}
			}
			isRight := asked.token > now.largest && (!needsFree || now.by == 0)
			return isRight, held{asked.token, asked.token}
		},
		DescribeOperation: func(input, _ interface{}) string { return fmt.Sprint(input) },
	}
}

func read(needsFree bool) ([]porcupine.Operation, error) {
	var history []porcupine.Operation
	lines := bufio.NewScanner(os.Stdin)
	for client := 0; lines.Scan(); client++ {
		if lines.Text() == "" {
			continue
		}
		var key string
		var token uint64
		var asked, begin, until, ended int64
		if _, err := fmt.Sscan(lines.Text(), &key, &token, &asked, &begin, &until, &ended); err != nil {
			return nil, fmt.Errorf("not a hold: %q: %w", lines.Text(), err)
		}
		if ended < 0 {
			ended = math.MaxInt64
		}
		history = append(history, porcupine.Operation{ClientId: client, Input: step{key, token, false}, Call: asked,
			Return: begin})
		if needsFree {
			history = append(history, porcupine.Operation{ClientId: client, Input: step{key, token, true},
				Call: until, Return: ended})
		}
	}
	return history, lines.Err()
}

func main() {
	if len(os.Args) != 3 || (os.Args[1] != "mutex" && os.Args[1] != "tokens") {
		fmt.Fprintln(os.Stderr, "usage: judge mutex|tokens SECONDS < history")
		os.Exit(2)
	}
	needsFree := os.Args[1] == "mutex"
	seconds, err := strconv.Atoi(os.Args[2])
	history, failure := read(needsFree)
	if err != nil || failure != nil {
		fmt.Fprintln(os.Stderr, err, failure)
		os.Exit(2)
	}
	switch porcupine.CheckOperationsTimeout(model(needsFree), history, time.Duration(seconds)*time.Second) {
	case porcupine.Ok:
		fmt.Printf("%d operations\n", len(history))
	case porcupine.Illegal:
		fmt.Println("Porcupine finds no order of moments that explains the history")
		os.Exit(1)
	default:
		fmt.Printf("no end within %d s\n", seconds)
		os.Exit(3)
	}
}
