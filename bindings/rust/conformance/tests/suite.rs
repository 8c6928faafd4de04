// SPDX-License-Identifier: MIT
//! The runner as it is called: all scenarios in a local context, the self-tests, and the ways to fail.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/conformance")
}

fn scenarios() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder().join("scenarios")).expect("the folder of scenarios");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn run(words: &[&str], files: &[PathBuf]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_conformance")).args(words).args(files).output().expect("it runs");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn all_scenarios_that_hold_in_a_local_context_pass() {
    let (status, told) = run(&[], &scenarios());
    assert_eq!(status, 0, "{}", told);
    let passed = told.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed >= 180 && told.contains(&format!("1..{}\n# {} passed, 0 failed, on local", passed, passed)));
}

#[test]
fn every_self_test_fails_at_its_step_and_for_its_reason() {
    let names =
        ["invariants", "malformed", "malformed_about", "malformed_schema", "wrong_ends", "wrong_expectations"];
    let file = |name: &&str| folder().join("selftest").join(format!("{}.json", name));
    let files: Vec<PathBuf> = names.iter().map(file).collect();
    let (status, told) = run(&["--selftest"], &files);
    assert_eq!(status, 0, "{}", told);
    assert!(told.lines().filter(|line| line.starts_with("ok ")).count() >= 60, "{}", told);
}

#[test]
fn a_file_that_repeats_a_field_is_refused_and_names_the_line() {
    let (status, told) = run(&[], &[folder().join("selftest/malformed_json.json")]);
    assert_eq!(status, 1);
    assert!(
        told.contains("not ok 1 - malformed_json.json") && told.contains("duplicate field \"schema\""),
        "{}",
        told
    );
}

#[test]
fn a_failing_scenario_ends_the_run_as_failed_and_a_run_of_nothing_does_too() {
    let (status, told) = run(&[], &[folder().join("selftest/plain_failure.json")]);
    assert!(status == 1 && told.contains("not ok 2 - fails") && told.contains("1 passed, 1 failed"), "{}", told);
    assert_eq!(run(&["--filter", "no_scenario_has_this_name"], &scenarios()).0, 1);
    assert_eq!(run(&["--census", "total=100000"], &scenarios()).0, 1);
    assert_eq!(run(&["--unknown"], &scenarios()).0, 2);
}

#[test]
fn the_list_has_each_scenario_once() {
    let (status, told) = run(&["--list"], &scenarios());
    let mut names: Vec<&str> = told.lines().collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(status == 0 && all >= 180 && names.len() == all);
}
