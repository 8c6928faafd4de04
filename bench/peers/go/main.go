// SPDX-License-Identifier: MIT

// Measures the Go keyed mutex over 1,024 hot keys of 16 bytes, as the C++ programs do, and prints what Google
// Benchmark would print: {"benchmarks": [{"name", "real_time", "time_unit"}]}.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func hotKeys(count uint64) []string {
	keys := make([]string, count)
	for i := range keys {
		bits := uint64(i) + 0x9e3779b97f4a7c15
		bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9
		bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb
		keys[i] = fmt.Sprintf("%016x", bits^(bits>>31))
	}
	return keys
}

// Nanoseconds per pair, over at least the given time.
func pairTime(k *keyedMutex, keys []string, least time.Duration) float64 {
	const batch = 1 << 16
	pairs := 0
	start := time.Now()
	for {
		for i := 0; i < batch; i++ {
			key := keys[i&(len(keys)-1)]
			k.lock(key)
			k.unlock(key)
		}
		pairs += batch
		if taken := time.Since(start); taken >= least {
			return float64(taken.Nanoseconds()) / float64(pairs)
		}
	}
}

type result struct {
	Name     string  `json:"name"`
	RunType  string  `json:"run_type"`
	RealTime float64 `json:"real_time"`
	TimeUnit string  `json:"time_unit"`
	Label    string  `json:"label"`
}

func main() {
	least := flag.Duration("min_time", 150*time.Millisecond, "how long to measure")
	repetitions := flag.Int("repetitions", 3, "how often")
	flag.Parse()
	k, keys := newKeyedMutex(), hotKeys(1024)
	pairTime(k, keys, *least/5)
	var results []result
	for i := 0; i < *repetitions; i++ {
		taken := pairTime(k, keys, *least)
		results = append(results, result{"go_keyed_mutex/hot", "iteration", taken, "ns", "unpinned"})
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"benchmarks": results}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
