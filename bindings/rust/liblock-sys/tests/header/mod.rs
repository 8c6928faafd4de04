// SPDX-License-Identifier: MIT
//! The header as these tests read it: its text without comments, its declarations, and a C compiler to ask.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// The folder that has `liblock/liblock.h`: beside the library that is linked, or in this source tree.
pub fn folder() -> PathBuf {
    let tree = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../capi/include");
    match option_env!("LIBLOCK_SYS_INCLUDE") {
        Some(told) => PathBuf::from(told),
        None => tree,
    }
}

/// The header without comments. Fails where there is none: nothing was compared then.
pub fn text() -> String {
    let path = folder().join("liblock/liblock.h");
    let text = fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {}", path.display(), cause));
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("/*") {
        clean.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find("*/").expect("a comment ends") + 2..];
    }
    clean + rest
}

/// Name and parameter text of every function, with what it returns before the name.
pub fn functions(text: &str) -> Vec<(String, String)> {
    let pieces = text.split("LIBLOCK_API ").skip(1).filter_map(|piece| piece.split_once(");"));
    pieces
        .filter_map(|(head, _)| head.split_once('('))
        .filter_map(|(head, parameters)| {
            let name = head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty())?;
            let found = name.starts_with("liblock_");
            found.then(|| (name.to_string(), parameters.split_whitespace().collect::<Vec<_>>().join(" ")))
        })
        .collect()
}

/// Every struct that has fields, with their names.
pub fn structs(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for piece in text.split("typedef struct ").skip(1) {
        let name = piece.split_whitespace().next().expect("a struct has a name");
        let body = match piece.split_once('{') {
            Some((head, body)) if head.trim() == name => body.split_once('}').expect("a struct ends").0,
            _ => continue,
        };
        let fields = body.split(';').map(str::trim).filter(|field| !field.is_empty()).map(|field| {
            let before = field.split('[').next().unwrap_or(field);
            before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(before).to_string()
        });
        found.push((name.to_string(), fields.collect()));
    }
    found
}

/// Every enumerator, every status and every macro that is a number.
pub fn constants(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    let begins = |word: &&str| word.starts_with("LIBLOCK_") && word.chars().all(|c| !c.is_lowercase());
    for piece in text.split("enum {").skip(1) {
        let body = piece.split('}').next().unwrap_or("");
        let lines = body.split([',', '\n']).filter(|line| !line.contains('#'));
        let words = lines.filter_map(|line| line.trim().split(" =").next()).filter(begins);
        found.extend(words.filter(|word| !word.contains('(')).map(str::to_string));
    }
    for piece in text.split(" X(").skip(1) {
        found.insert(format!("LIBLOCK_{}", piece.split(',').next().unwrap_or("")));
    }
    let version = fs::read_to_string(folder().join("liblock/version.h")).expect("version.h");
    for line in text.lines().chain(version.lines()).filter_map(|line| line.strip_prefix("#define ")) {
        let name = line.split_whitespace().next().unwrap_or("");
        let is_number = !name.contains('(') && line.len() > name.len();
        let other = ["LIBLOCK_API", "LIBLOCK_RESULT_INIT", "LIBLOCK_OWNER_THREAD"];
        if is_number && name.starts_with("LIBLOCK_") && !other.contains(&name) {
            found.insert(name.to_string());
        }
    }
    found
}

/// The beginning of a C program whose `main` is still open.
pub fn preamble() -> String {
    "#include <liblock/liblock.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n".to_string()
}

/// Compiles a C program and answers what it prints.
pub fn run(program: &str, name: &str) -> String {
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    compile(program, &base);
    let output = Command::new(&base).output().expect("the program runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("the program prints ASCII")
}

/// Compiles a C program with warnings as errors; fails with the compiler's words.
pub fn compile(program: &str, base: &std::path::Path) {
    let source = base.with_extension("c");
    fs::write(&source, program).expect("the temporary folder can be written to");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(folder())
        .arg("-o")
        .arg(base)
        .arg(&source)
        .arg(if program.contains("int main") { "-O0" } else { "-c" })
        .output()
        .expect("a C compiler runs");
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), program);
}

/// Both sides as sets, so that the message names what only one of them has.
pub fn assert_same(here: Vec<String>, told: String) {
    let here: BTreeSet<String> = here.into_iter().collect();
    let there: BTreeSet<String> = told.lines().map(str::to_string).collect();
    let only_here: Vec<_> = here.difference(&there).collect();
    let only_there: Vec<_> = there.difference(&here).collect();
    assert!(only_here.is_empty() && only_there.is_empty(), "here: {:?}\nheader: {:?}", only_here, only_there);
}
