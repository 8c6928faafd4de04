// SPDX-License-Identifier: MIT
//! Every function of the header is reached by this crate. That liblock-sys declares exactly those of the header is
//! proved by its own tests; here its declarations are compared with what the sources of this crate call.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What this crate leaves out, and why.
const LEFT_OUT: [(&str, &str); 1] =
    [("liblock_result_init", "results are prepared in Rust, full of rubbish in builds with debug assertions")];

fn words_after(text: &str, lead: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let names = text.split(lead).skip(1).map(|rest| rest.split(|c| !is_name(c)).next().unwrap_or("").to_string());
    names.filter(|name| name.starts_with("liblock_")).collect()
}

fn sources(folder: &Path) -> String {
    let files = fs::read_dir(folder).expect("the folder of sources").map(|entry| entry.expect("an entry").path());
    files.map(|path| fs::read_to_string(path).expect("a source")).collect()
}

#[test]
fn every_function_of_the_header_is_called_by_this_crate_or_listed_as_left_out() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let declared = words_after(&sources(&here.join("../liblock-sys/src")), "pub fn ");
    let called = words_after(&sources(&here.join("src")), "sys::");
    assert!(declared.len() > 120, "the declarations were not understood: {:?}", declared);
    let left_out: BTreeSet<String> = LEFT_OUT.iter().map(|entry| entry.0.to_string()).collect();
    let missing: BTreeSet<String> = declared.difference(&called).cloned().collect();
    assert_eq!(missing, left_out);
}

#[test]
fn the_loaded_library_is_of_the_version_that_was_declared() {
    assert_eq!(liblock::version_number() / 1_000, liblock_sys::LIBLOCK_VERSION_NUMBER / 1_000);
    assert!(liblock::version().starts_with("0.1."));
}
