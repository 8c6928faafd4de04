// SPDX-License-Identifier: MIT
// The five samples run and say what happens.

package liblock_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestEverySampleRunsToItsEnd(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("samples", "*"))
	if err != nil || len(samples) != 5 {
		t.Fatal(samples, err)
	}
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "sample")
			if out, err := exec.Command("go", "build", "-o", program, "./"+sample).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			out, err := exec.Command(program).CombinedOutput()
			if err != nil || len(out) == 0 {
				t.Fatal(err, string(out))
			}
		})
	}
}
