//! Compiles the Valgrind tool (`recorder/valgrind`) against the distribution's valgrind package.
//! The program carries the compiled tool inside. Without the package, the program is built without
//! the tool, and `record` says what to install.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let source =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets CARGO_MANIFEST_DIR"))
            .join("../../recorder/valgrind");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed=/usr/include/valgrind/pub_tool_basics.h");
    let tool = out.join("broadleaf-tool");
    if let Err(why) = build(&source, &out.join("valgrind"), &tool) {
        println!("cargo::warning=`broadleaf record` will not work in this build: {why}");
        fs::write(&tool, []).expect("OUT_DIR can be written to");
    }
    println!("cargo::rustc-env=BROADLEAF_TOOL={}", tool.display());
}

fn build(source: &Path, work: &Path, tool: &Path) -> Result<(), String> {
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
        || env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64")
    {
        return Err("the recorder is for Linux on x86-64".into());
    }
    if !Path::new("/usr/include/valgrind/pub_tool_basics.h").exists() {
        return Err("the valgrind package is missing (apt-get install valgrind)".into());
    }
    let made = Command::new("make")
        .arg("-C")
        .arg(source)
        .arg(format!("BUILD={}", work.display()))
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS")
        .output()
        .map_err(|e| format!("make could not be run: {e}"))?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr)
            .trim()
            .replace('\n', " | "));
    }
    let built = work.join("broadleaf-amd64-linux");
    let strip = Command::new("strip")
        .arg("-o")
        .arg(tool)
        .arg(&built)
        .status();
    if !strip.is_ok_and(|s| s.success()) {
        fs::copy(&built, tool).map_err(|e| e.to_string())?;
    }
    Ok(())
}
