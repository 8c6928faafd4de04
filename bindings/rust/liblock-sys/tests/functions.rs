// SPDX-License-Identifier: MIT
//! Every function and callback type of this crate beside those of the header: the names as sets, and each signature
//! translated back into C and compared by the C compiler, which knows better than a test when two types are the same.

use std::path::PathBuf;

#[path = "header/mod.rs"]
mod header;

const FUNCTIONS: &str = concat!(include_str!("../src/functions.rs"), include_str!("../src/look.rs"));
const TYPES: &str = include_str!("../src/types.rs");

/// Name, parameter types and return type of every `fn` in a text that begins with `lead`.
fn signatures(text: &str, lead: &str, middle: &str) -> Vec<(String, Vec<String>, String)> {
    let mut found = Vec::new();
    for piece in text.split(lead).skip(1) {
        let (name, rest) = match piece.split_once(middle) {
            Some(parts) => parts,
            None => continue,
        };
        let (parameters, rest) = rest.split_once(')').expect("parameters end");
        let answer = rest
            .trim_start()
            .strip_prefix("->")
            .map_or("()", |text| text.split([';', '>']).next().unwrap_or("").trim());
        let types = parameters.split(',').map(str::trim).filter(|text| !text.is_empty());
        let types = types.map(|text| text.split_once(": ").expect("a parameter has a type").1.to_string());
        found.push((name.trim().trim_end_matches(['=', ' ', '\n']).to_string(), types.collect(), answer.to_string()));
    }
    found
}

/// `*const *const c_char` becomes `const char *const *`.
fn in_c(rust: &str) -> String {
    if let Some(inner) = rust.strip_prefix("*const ") {
        return format!("{} const *", in_c(inner));
    }
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return format!("{} *", in_c(inner));
    }
    match rust {
        "()" | "c_void" => "void".to_string(),
        "c_char" => "char".to_string(),
        "usize" => "size_t".to_string(),
        "i32" | "u32" | "i64" | "u64" => format!("{}_t", rust.replace('i', "int").replace('u', "uint")),
        name => name.to_string(),
    }
}

fn pointer(declared: &(String, Vec<String>, String), variable: &str) -> String {
    let types: Vec<String> = declared.1.iter().map(|word| in_c(word)).collect();
    let types = if types.is_empty() { "void".to_string() } else { types.join(", ") };
    format!("{} (*{})({})", in_c(&declared.2), variable, types)
}

#[test]
fn every_function_of_the_header_is_declared_and_no_other() {
    let there: Vec<String> = header::functions(&header::text()).into_iter().map(|found| found.0).collect();
    assert!(there.len() > 100, "the header was not understood: {:?}", there);
    let here = signatures(FUNCTIONS, "pub fn ", "(").into_iter().map(|found| found.0).collect();
    header::assert_same(here, there.join("\n"));
}

#[test]
fn every_function_has_the_parameters_of_the_header() {
    let mut program = "#include <liblock/liblock.h>\n".to_string();
    for declared in signatures(FUNCTIONS, "pub fn ", "(") {
        program += &format!("{} = {};\n", pointer(&declared, &format!("check_{}", declared.0)), declared.0);
    }
    header::compile(&program, &PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("signatures"));
}

#[test]
fn every_callback_has_the_parameters_of_the_header() {
    let declared = signatures(TYPES, "pub type ", "Option<unsafe extern \"C\" fn(");
    let there = header::text().matches("typedef").count() - header::text().matches("typedef struct").count();
    // Three typedefs are numbers: liblock_status, liblock_lock, liblock_request.
    assert_eq!(declared.len(), there - 3);
    let mut program = "#include <liblock/liblock.h>\n".to_string();
    for callback in declared {
        let (name, variable) = (callback.0.clone(), format!("check_{}", callback.0));
        program += &format!("{} = ({})0;\n", pointer(&callback, &variable), name);
    }
    header::compile(&program, &PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("callbacks"));
}
