// SPDX-License-Identifier: MIT
// Options of contexts and acquires, by the names of the header.

package main

import (
	"fmt"
	"time"

	liblock "liblock.dev/go"
	"liblock.dev/go/internal/raw"
)

// The tables of options: which there are, how each is written, and what it sets. An option that is in no table is a
// fault, never ignored; one that the scenario leaves out keeps the library's default.
var (
	orders    = []string{"FIFO", "LIFO", "PRIORITY", "ANY"}
	modes     = []string{"EXCLUSIVE"}
	backoffs  = []string{"FIXED", "LINEAR", "EXPONENTIAL"}
	conflicts = []string{"REENTER", "REENTER_EXTEND", "WAIT", "FAIL"}
	deadlocks = []string{"FAIL_SELF", "FAIL_YOUNGEST", "REPORT_ONLY"}
	closes    = []string{"RELEASE", "LEAVE"}
)

type wide func(*raw.Acquire) *int64

var lockWide = map[string]wide{
	"wait_ms":           func(o *raw.Acquire) *int64 { return &o.WaitMs },
	"retries":           func(o *raw.Acquire) *int64 { return &o.Retries },
	"retry_interval_ms": func(o *raw.Acquire) *int64 { return &o.RetryIntervalMs },
	"retry_jitter_ms":   func(o *raw.Acquire) *int64 { return &o.RetryJitterMs },
	"backoff_step_ms":   func(o *raw.Acquire) *int64 { return &o.BackoffStepMs },
	"backoff_cap_ms":    func(o *raw.Acquire) *int64 { return &o.BackoffCapMs },
	"age_step_ms":       func(o *raw.Acquire) *int64 { return &o.AgeStepMs },
	"queue_ttl_ms":      func(o *raw.Acquire) *int64 { return &o.QueueTTLMs },
	"max_hold_ms":       func(o *raw.Acquire) *int64 { return &o.MaxHoldMs },
	"min_remaining_ms":  func(o *raw.Acquire) *int64 { return &o.MinRemainingMs },
}

// narrow is a 32-bit option; with names also written as one of them.
type narrow struct {
	names []string
	field func(*raw.Acquire) *int32
}

var lockNarrow = map[string]narrow{
	"backoff_base": {nil, func(o *raw.Acquire) *int32 { return &o.BackoffBase }},
	"priority":     {nil, func(o *raw.Acquire) *int32 { return &o.Priority }},
	"renew":        {nil, func(o *raw.Acquire) *int32 { return &o.Renew }},
	"votes":        {nil, func(o *raw.Acquire) *int32 { return &o.Votes }},
	"backoff":      {backoffs, func(o *raw.Acquire) *int32 { return &o.Backoff }},
	"order":        {orders, func(o *raw.Acquire) *int32 { return &o.Order }},
	"mode":         {modes, func(o *raw.Acquire) *int32 { return &o.Mode }},
	"on_conflict":  {conflicts, func(o *raw.Acquire) *int32 { return &o.OnConflict }},
	"on_deadlock":  {deadlocks, func(o *raw.Acquire) *int32 { return &o.OnDeadlock }},
}

var openWide = map[string]func(*raw.Open) *int64{
	"cleanup_interval_ms": func(o *raw.Open) *int64 { return &o.CleanupIntervalMs },
	"cleanup_batch_size":  func(o *raw.Open) *int64 { return &o.CleanupBatchSize },
	"max_ttl_ms":          func(o *raw.Open) *int64 { return &o.MaxTTLMs },
	"deadlock_detection":  func(o *raw.Open) *int64 { return &o.DeadlockDetection },
	"deadlock_delay_ms":   func(o *raw.Open) *int64 { return &o.DeadlockDelayMs },
	"locks_max":           func(o *raw.Open) *int64 { return &o.LocksMax },
	"waiters_max":         func(o *raw.Open) *int64 { return &o.WaitersMax },
	"requests_max":        func(o *raw.Open) *int64 { return &o.RequestsMax },
}

func ttlOf(node interface{}) (int64, error) {
	if ms, ok := number(node); ok {
		return ms, nil
	}
	switch node {
	case "AUTO":
		return -1, nil
	case "NONE":
		return -2, nil
	}
	return 0, fmt.Errorf("a ttl is a number, \"AUTO\" or \"NONE\"")
}

func orderName(order liblock.Order) string {
	if order >= 0 && int(order) < len(orders) {
		return orders[order]
	}
	return "UNKNOWN"
}

func narrowOf(name string, names []string, node interface{}) (int32, error) {
	if n, ok := number(node); ok {
		if int64(int32(n)) != n {
			return 0, fmt.Errorf("option \"%s\" takes a 32-bit number", name)
		}
		return int32(n), nil
	}
	if names == nil {
		return 0, fmt.Errorf("option \"%s\" takes a number", name)
	}
	text, _ := node.(string)
	for i, word := range names {
		if word == text {
			return int32(i), nil
		}
	}
	return 0, fmt.Errorf("option \"%s\" has no value \"%s\"", name, text)
}

// lockOptions reads the options of an acquire; notice is "", "callback" or "completions".
func lockOptions(node interface{}) (options []liblock.LockOption, notice string, err error) {
	o, isObject := node.(*object)
	if node != nil && !isObject {
		return nil, "", fmt.Errorf("options are an object")
	}
	if o == nil {
		return nil, "", nil
	}
	for _, name := range o.names {
		option, err := lockOption(name, o.fields[name], &notice)
		if err != nil {
			return nil, "", err
		}
		if option != nil {
			options = append(options, option)
		}
	}
	return options, notice, nil
}

func lockOption(name string, node interface{}, notice *string) (liblock.LockOption, error) {
	if field, ok := lockWide[name]; ok {
		n, isNumber := number(node)
		if !isNumber {
			return nil, fmt.Errorf("option \"%s\" takes a number", name)
		}
		return liblock.RawLock(func(o *raw.Acquire) { *field(o) = n }), nil
	}
	if field, ok := lockNarrow[name]; ok {
		n, err := narrowOf(name, field.names, node)
		return liblock.RawLock(func(o *raw.Acquire) { *field.field(o) = n }), err
	}
	switch name {
	case "ttl_ms":
		ms, err := ttlOf(node)
		return liblock.RawLock(func(o *raw.Acquire) { o.TTLMs = ms }), err
	case "value":
		value, err := bytesOf(node)
		return liblock.Value([]byte(value)), err
	case "metadata":
		return metadataOption(node)
	case "backoff_callback":
		return backoffOption(node)
	case "on_lost":
		*notice, _ = node.(string)
		if *notice != "callback" && *notice != "completions" {
			return nil, fmt.Errorf("option \"on_lost\" is \"callback\" or \"completions\"")
		}
		return nil, nil
	}
	return nil, fmt.Errorf("unknown option \"%s\"", name)
}

func metadataOption(node interface{}) (liblock.LockOption, error) {
	o, ok := node.(*object)
	if !ok {
		return nil, fmt.Errorf("option \"metadata\" takes an object of name: bytes")
	}
	entries := map[string][]byte{}
	for _, name := range o.names {
		value, err := bytesOf(o.fields[name])
		if err != nil {
			return nil, err
		}
		entries[name] = []byte(value)
	}
	return liblock.Metadata(entries), nil
}

// backoffOption: interval n is the n-th number, the last one stands for all later ones.
func backoffOption(node interface{}) (liblock.LockOption, error) {
	list, _ := node.([]interface{})
	if len(list) == 0 {
		return nil, fmt.Errorf("option \"backoff_callback\" takes a list of intervals")
	}
	intervals := make([]time.Duration, len(list))
	for i, item := range list {
		ms, ok := number(item)
		if !ok {
			return nil, fmt.Errorf("option \"backoff_callback\" takes numbers")
		}
		intervals[i] = time.Duration(ms) * time.Millisecond
	}
	return liblock.BackoffFunc(func(attempt uint32) time.Duration {
		if int(attempt) >= len(intervals) {
			return intervals[len(intervals)-1]
		}
		return intervals[attempt]
	}), nil
}

// openOptions reads the options of a context; hasPrefix says whether they name one.
func openOptions(node interface{}) (options []liblock.Option, hasPrefix bool, err error) {
	o, isObject := node.(*object)
	if node != nil && !isObject {
		return nil, false, fmt.Errorf("options are an object")
	}
	if o == nil {
		return nil, false, nil
	}
	for _, name := range o.names {
		option, err := openOption(name, o.fields[name])
		if err != nil {
			return nil, false, err
		}
		hasPrefix = hasPrefix || name == "prefix"
		options = append(options, option)
	}
	return options, hasPrefix, nil
}

func openOption(name string, node interface{}) (liblock.Option, error) {
	if field, ok := openWide[name]; ok {
		n, isNumber := number(node)
		if !isNumber {
			return nil, fmt.Errorf("option \"%s\" takes a number", name)
		}
		return liblock.RawOpen(func(o *raw.Open) { *field(o) = n }), nil
	}
	switch name {
	case "prefix":
		prefix, err := bytesOf(node)
		return liblock.Prefix(prefix), err
	case "on_close":
		n, err := narrowOf(name, closes, node)
		return liblock.OnClose(n), err
	case "votes":
		n, err := narrowOf(name, nil, node)
		return liblock.Votes(n), err
	}
	return nil, fmt.Errorf("unknown option \"%s\"", name)
}
