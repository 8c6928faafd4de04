// SPDX-License-Identifier: MIT
// The verbs of a step, and which fields each may have.

package main

const (
	target      = "key keys global as owner options"
	clears      = "batch_size dead_ttl_ms"
	tellsReport = tellsResult + " count queues cleared_keys dequeued"
	tellsInfo   = "status key held global zombie owner instance value token held_for_ms initial_ttl_ms remaining_ms" +
		" hold_count metadata waiter_count queue"
	tellsList = "status keys count globals"
)

var verbs map[string]*verb

func init() { // not a literal: performing a step leads back here
	verbs = map[string]*verb{
		"open":           {"as", "space url options", tellsResult + " on_open_calls", performOpen, true},
		"close":          {"", "", "status", performClose, true},
		"close_async":    {"", "", "status", performCloseAsync, true},
		"ping":           {"", "", tellsResult, performPing, false},
		"owner_open":     {"as", "name", tellsResult, performOwnerOpen, true},
		"owner_close":    {"owner", "", "status", performOwnerClose, false},
		"owner_id":       {"as owner", "", "", performOwnerID, false},
		"acquire":        {"", target, tellsResult, performAcquire, false},
		"try_acquire":    {"key", "as owner options", tellsResult, performAcquire, false},
		"acquire_async":  {"as", target, "status", performAcquireAsync, true},
		"cancel":         {"request", "", "status", performCancel, false},
		"release":        {"lock", "", tellsResult, performRelease, false},
		"release_keys":   {"owner keys", "", tellsResult, performReleaseKeys, false},
		"extend":         {"lock ttl_ms", "add", tellsResult, performExtend, false},
		"update":         {"lock value", "", tellsResult, performUpdate, false},
		"is_held":        {"lock", "", "status", performIsHeld, false},
		"remaining":      {"lock", "", "status remaining_ms", performRemaining, false},
		"token":          {"lock", "", "status token", performToken, false},
		"hold_count":     {"lock", "", "status hold_count", performHoldCount, false},
		"verify":         {"lock", "", tellsResult, performVerify, false},
		"wait_lost":      {"lock", "wait_ms", tellsResult, performWaitLost, false},
		"wait_held":      {"key", "wait_ms", tellsResult, performWaitHeld, false},
		"wait_released":  {"key", "wait_ms", tellsResult, performWaitReleased, false},
		"is_locked":      {"key", "", "status locked", performIsLocked, false},
		"is_queued":      {"key", "", "status queued", performIsQueued, false},
		"inspect":        {"key", "", tellsInfo, performInspect, false},
		"inspect_queue":  {"key", "", tellsInfo, performInspect, false},
		"list_locks":     {"", "prefix batch_size", tellsList, performList, false},
		"list_queues":    {"", "prefix batch_size", tellsList, performList, false},
		"list_keys":      {"", "prefix batch_size", tellsList, performList, false},
		"force_release":  {"key", "drop_queue", tellsResult, performForceRelease, false},
		"clear":          {"", clears, tellsReport, performClear, false},
		"clear_owner":    {"owner", clears, tellsReport, performClearOwner, false},
		"clear_instance": {"instance", clears, tellsReport, performClearInstance, false},
		"clear_dead":     {"", clears, tellsReport, performClearDead, false},
		"sweep":          {"", "", tellsResult + " count", performSweep, false},
		"stats":          {"", "", "status" + counters, performStats, false},
		"await":          {"ends", "any_order", "", performAwait, true},
		"idle":           {"", "", "", performIdle, true},
		"await_queue":    {"key waiters", "", "", performAwaitQueue, true},
		"await_notice":   {"lock", "", "", performAwaitNotice, true},
		"sleep":          {"ms", "", "", performSleep, true},
		"finish":         {"of", "", "", performFinish, true},
		"end_thread":     {"of", "", "", performEndThread, true},
	}
}
