// SPDX-License-Identifier: MIT
// The binding against liblock.h: every function is reached, every constant is the same.

package liblock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// covered says by what of this package each function of liblock.h is reached.
var covered = map[string]string{
	"liblock_version_string":             "Version",
	"liblock_version_number":             "VersionNumber",
	"liblock_status_name":                "Status.Name",
	"liblock_status_text":                "Status.Error",
	"liblock_status_is":                  "Status.Has",
	"liblock_result_init":                "Result",
	"liblock_context_options_init":       "Option",
	"liblock_open":                       "Open",
	"liblock_close":                      "Context.Close",
	"liblock_close_async":                "Context.CloseAsync",
	"liblock_context_free":               "Context.Close",
	"liblock_ping":                       "Context.Ping",
	"liblock_instance_id":                "Context.InstanceID",
	"liblock_owner_open":                 "Context.OpenOwner",
	"liblock_owner_close":                "Owner.Close",
	"liblock_owner_free":                 "Owner.Close",
	"liblock_owner_id":                   "Owner.ID",
	"liblock_acquire_options_init":       "LockOption",
	"liblock_acquire":                    "Blocking",
	"liblock_try_acquire":                "Context.TryLock",
	"liblock_acquire_many":               "Context.LockMany",
	"liblock_acquire_global":             "Context.LockGlobal",
	"liblock_acquire_async":              "Context.Lock",
	"liblock_acquire_many_async":         "Context.LockMany",
	"liblock_acquire_global_async":       "Context.LockGlobal",
	"liblock_cancel":                     "Context.Cancel",
	"liblock_release":                    "Lock.Unlock",
	"liblock_release_keys":               "Owner.Release",
	"liblock_extend":                     "Lock.Extend",
	"liblock_update":                     "Lock.Update",
	"liblock_release_key":                "Context.ReleaseKey",
	"liblock_extend_key":                 "Context.ExtendKey",
	"liblock_update_key":                 "Context.UpdateKey",
	"liblock_is_held":                    "Lock.Held",
	"liblock_remaining_ms":               "Lock.Remaining",
	"liblock_fencing_token":              "Lock.FencingToken",
	"liblock_hold_count":                 "Lock.HoldCount",
	"liblock_verify":                     "Lock.Verify",
	"liblock_wait_lost":                  "Lock.WaitLost",
	"liblock_release_async":              "Lock.Unlock",
	"liblock_release_keys_async":         "Owner.Release",
	"liblock_extend_async":               "Lock.Extend",
	"liblock_update_async":               "Lock.Update",
	"liblock_verify_async":               "Lock.Verify",
	"liblock_ping_async":                 "Context.Ping",
	"liblock_inspect_async":              "Context.Inspect",
	"liblock_force_release_async":        "Context.ForceRelease",
	"liblock_wait_lost_async":            "Lock.WaitLost",
	"liblock_wait_held_async":            "Context.WaitHeld",
	"liblock_wait_released_async":        "Context.WaitReleased",
	"liblock_read_async":                 "Context.Read",
	"liblock_wait_held_on_async":         "Context.WaitHeldOn",
	"liblock_export":                     "Lock.Export",
	"liblock_adopt":                      "Context.Adopt",
	"liblock_is_locked":                  "Context.IsLocked",
	"liblock_is_queued":                  "Context.IsQueued",
	"liblock_inspect":                    "Context.Inspect",
	"liblock_inspect_queue":              "Context.InspectQueue",
	"liblock_info_key":                   "Info",
	"liblock_info_is_global":             "Info",
	"liblock_info_is_held":               "Info",
	"liblock_info_owner":                 "Info",
	"liblock_info_instance":              "Info",
	"liblock_info_host":                  "Info",
	"liblock_info_token":                 "Info",
	"liblock_info_since_us":              "Info",
	"liblock_info_initial_ttl_ms":        "Info",
	"liblock_info_remaining_ms":          "Info",
	"liblock_info_hold_count":            "Info",
	"liblock_info_is_zombie":             "Info",
	"liblock_info_value":                 "Info",
	"liblock_info_metadata_count":        "Info",
	"liblock_info_metadata_at":           "Info",
	"liblock_info_waiter_count":          "Info",
	"liblock_info_waiter_owner":          "Waiter",
	"liblock_info_waiter_instance":       "Waiter",
	"liblock_info_waiter_since_us":       "Waiter",
	"liblock_info_waiter_waited_ms":      "Waiter",
	"liblock_info_waiter_order":          "Waiter",
	"liblock_info_waiter_priority":       "Waiter",
	"liblock_info_free":                  "Info",
	"liblock_report_init":                "Report",
	"liblock_list_options_init":          "ListOption",
	"liblock_list_locks":                 "Context.List",
	"liblock_list_queues":                "Context.List",
	"liblock_list_keys":                  "Context.List",
	"liblock_cursor_next":                "Cursor.Next",
	"liblock_cursor_report":              "Cursor.Report",
	"liblock_cursor_free":                "Cursor.Close",
	"liblock_list_each":                  "Context.Each",
	"liblock_wait_held":                  "Context.WaitHeld",
	"liblock_wait_released":              "Context.WaitReleased",
	"liblock_wait_held_on":               "Context.WaitHeldOn",
	"liblock_read":                       "Context.Read",
	"liblock_quorum_init":                "Context.QuorumInit",
	"liblock_quorum_init_async":          "Context.QuorumInit",
	"liblock_quorum_set_nodes":           "Context.QuorumSetNodes",
	"liblock_quorum_set_nodes_async":     "Context.QuorumSetNodes",
	"liblock_quorum_state_init":          "QuorumState",
	"liblock_quorum_status":              "Context.QuorumStatus",
	"liblock_force_release":              "Context.ForceRelease",
	"liblock_clear_options_init":         "ClearOption",
	"liblock_clear":                      "Context.Clear",
	"liblock_clear_owner":                "Context.ClearOwner",
	"liblock_clear_instance":             "Context.ClearInstance",
	"liblock_clear_dead":                 "Context.ClearDead",
	"liblock_sweep":                      "Context.Sweep",
	"liblock_instance_list_options_init": "Context.EachInstance",
	"liblock_list_instances":             "Context.EachInstance",
	"liblock_zombies_status_init":        "ZombiesStatus",
	"liblock_zombies_status_get":         "Context.Zombies",
	"liblock_stats_init":                 "Stats",
	"liblock_stats_get":                  "Context.Stats",
	"liblock_set_events":                 "Context.OnEvents",
	"liblock_set_log":                    "Context.OnLog",
	"liblock_instrument_options_init":    "Instruments",
	"liblock_set_instruments":            "Context.SetInstruments",
	"liblock_histogram_init":             "Histogram",
	"liblock_histogram_get":              "Context.Histogram",
	"liblock_stats_prometheus":           "Context.Prometheus",
	"liblock_event_name":                 "EventKind.String",
	"liblock_completions_open":           "Context.OpenCompletions",
	"liblock_completions_fd":             "Completions.Next",
	"liblock_completions_next":           "Completions.Next",
	"liblock_completions_close":          "Completions.Stop",
	"liblock_completions_free":           "Completions.Close",
}

// header is liblock.h: of this repository, or where it stands alone, of the installed library.
func header(t *testing.T) string {
	t.Helper()
	path := filepath.Join("..", "..", "capi", "include", "liblock", "liblock.h")
	text, err := os.ReadFile(path)
	if err == nil {
		return string(text)
	}
	folder, err := exec.Command("pkg-config", "--variable=includedir", "liblock").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder = []byte(os.Getenv("PKG_CONFIG_SYSROOT_DIR") + strings.TrimSpace(string(folder)))
	if text, err = os.ReadFile(filepath.Join(string(folder), "liblock", "liblock.h")); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sources(t *testing.T, pattern string) string {
	t.Helper()
	var all strings.Builder
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestEveryFunctionOfTheHeaderIsReached(t *testing.T) {
	names := regexp.MustCompile(`LIBLOCK_API[^;]*?\b(liblock_[a-z_0-9]+)\(`).FindAllStringSubmatch(header(t), -1)
	if len(names) < 120 {
		t.Fatalf("only %d functions were found in the header", len(names))
	}
	goSources := sources(t, "*.go")
	called := goSources + sources(t, "*.c")
	for _, match := range names {
		name := match[1]
		by, ok := covered[name]
		if !ok {
			t.Errorf("%s is not covered", name)
			continue
		}
		if !regexp.MustCompile(`\b` + name + `\(`).MatchString(called) {
			t.Errorf("%s is never called", name)
		}
		parts := strings.Split(by, ".")
		declared := `(?m)^(func|type) ` + parts[0] + `\b`
		if len(parts) == 2 {
			declared = `(?m)^func \((\w+ )?\*?` + parts[0] + `\) ` + parts[1] + `\(`
		}
		if !regexp.MustCompile(declared).MatchString(goSources) {
			t.Errorf("%s says that it is reached by %s, which there is not", name, by)
		}
	}
	if len(covered) != len(names) {
		t.Errorf("%d functions are covered, the header has %d", len(covered), len(names))
	}
}
