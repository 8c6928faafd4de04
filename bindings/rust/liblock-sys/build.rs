// SPDX-License-Identifier: MIT
//! Finds the library: where LIBLOCK_LIB_DIR says, else where pkg-config says. Documentation builds need none.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    for name in ["LIBLOCK_LIB_DIR", "LIBLOCK_INCLUDE_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os("LIBLOCK_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", Path::new(&folder).display());
        println!("cargo:rustc-link-lib=dylib=lock");
    } else {
        ask_pkg_config();
    }
    if let Some(folder) = env::var_os("LIBLOCK_INCLUDE_DIR") {
        tell_include(&folder.to_string_lossy());
    }
}

/// For the tests of this crate, and as DEP_LIBLOCK_INCLUDE for the build scripts of those that depend on it.
fn tell_include(folder: &str) {
    println!("cargo:include={}", folder);
    println!("cargo:rustc-env=LIBLOCK_SYS_INCLUDE={}", folder);
}

fn ask_pkg_config() {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let asked = Command::new(&program).args(["--libs", "--cflags", "liblock >= 0.1.0"]).output();
    let output = match asked {
        Ok(output) if output.status.success() => output,
        Ok(output) => fail(&String::from_utf8_lossy(&output.stderr)),
        Err(cause) => fail(&format!("{} cannot be run: {}", program, cause)),
    };
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if let Some(name) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={}", name);
        } else if let Some(folder) = word.strip_prefix("-I") {
            if env::var_os("LIBLOCK_INCLUDE_DIR").is_none() {
                tell_include(folder);
            }
        }
    }
}

fn fail(cause: &str) -> ! {
    eprintln!("{}", cause.trim());
    eprintln!("liblock was not found. Install it, with liblock.pc where pkg-config looks (PKG_CONFIG_PATH),");
    eprintln!("or set LIBLOCK_LIB_DIR to the folder that has liblock.so.");
    std::process::exit(1)
}
