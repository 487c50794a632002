//! Compiles the plugin for QEMU (`recorder/qemu`), and the Valgrind tool (`recorder/valgrind`)
//! against the distribution's valgrind package.
//! The program carries the compiled tool inside, and the package's launcher, so it records on
//! machines without the package. Without the package, the program is built without the tool, and
//! `record` says what to install.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The places of Valgrind's launcher.
const LAUNCHERS: [&str; 2] = ["/usr/bin/valgrind.bin", "/usr/bin/valgrind"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let source =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets CARGO_MANIFEST_DIR"))
            .join("../../recorder/valgrind");
    println!("cargo::rerun-if-changed={}", source.display());
    println!(
        "cargo::rerun-if-changed={}",
        source.join("../java").display()
    );
    println!("cargo::rerun-if-changed=/usr/include/valgrind/pub_tool_basics.h");
    let tool = out.join("broadleaf-tool");
    let launcher = out.join("broadleaf-launcher");
    let agent = out.join("broadleaf-java-agent");
    let built = build(&source, &out.join("valgrind"), &tool, &agent)
        .and_then(|()| copy_launcher(&launcher));
    if let Err(why) = built {
        println!("cargo::warning=`broadleaf record` will not work in this build: {why}");
        for file in [&tool, &launcher, &agent] {
            fs::write(file, []).expect("OUT_DIR can be written to");
        }
    }
    let plugin = out.join("broadleaf-qemu.so");
    if let Err(why) = build_plugin(&source.join("../qemu"), &out.join("qemu"), &plugin) {
        println!("cargo::warning=`record --engine qemu` will not work in this build: {why}");
        fs::write(&plugin, []).expect("OUT_DIR can be written to");
    }
    println!("cargo::rustc-env=BROADLEAF_QEMU={}", plugin.display());
    for version in [1, 4] {
        let built = out.join(format!("qemu/broadleaf-qemu-system-{version}.so"));
        let plugin = out.join(format!("broadleaf-qemu-system-{version}.so"));
        if !built.is_file() || strip(&built, &plugin).is_err() {
            fs::write(&plugin, []).expect("OUT_DIR can be written to");
        }
        println!(
            "cargo::rustc-env=BROADLEAF_QEMU_SYSTEM_{version}={}",
            plugin.display()
        );
    }
    println!("cargo::rustc-env=BROADLEAF_TOOL={}", tool.display());
    println!("cargo::rustc-env=BROADLEAF_LAUNCHER={}", launcher.display());
    println!("cargo::rustc-env=BROADLEAF_JAVA_AGENT={}", agent.display());
}

/// Copies Valgrind's launcher. The core executes it for each program that a recorded program
/// executes. On Debian, `valgrind` is a script around `valgrind.bin`.
fn copy_launcher(to: &Path) -> Result<(), String> {
    let is_program = |path: &&&str| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let launcher = LAUNCHERS
        .iter()
        .find(is_program)
        .ok_or_else(|| format!("none of {LAUNCHERS:?} is Valgrind's launcher"))?;
    println!("cargo::rerun-if-changed={launcher}");
    fs::copy(launcher, to)
        .map(|_| ())
        .map_err(|error| format!("{launcher}: {error}"))
}

fn build(source: &Path, work: &Path, tool: &Path, agent: &Path) -> Result<(), String> {
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
        || env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64")
    {
        return Err("the recorder is for Linux on x86-64".into());
    }
    if !Path::new("/usr/include/valgrind/pub_tool_basics.h").exists() {
        return Err("the valgrind package is missing (apt-get install valgrind)".into());
    }
    make(source, work)?;
    strip(&work.join("broadleaf-amd64-linux"), tool)?;
    fs::copy(work.join("broadleaf-java.so"), agent).map_err(|e| e.to_string())?;
    Ok(())
}

/// Compiles the plugin for QEMU (`recorder/qemu`). It needs no file of QEMU.
fn build_plugin(source: &Path, work: &Path, plugin: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", source.display());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
        || env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64")
    {
        return Err("the recorder is for Linux on x86-64".into());
    }
    make(source, work)?;
    strip(&work.join("broadleaf-qemu.so"), plugin)
}

fn make(source: &Path, work: &Path) -> Result<(), String> {
    let made = Command::new("make")
        .arg("-C")
        .arg(source)
        .arg(format!("BUILD={}", work.display()))
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS")
        .output()
        .map_err(|e| format!("make could not be run: {e}"))?;
    if made.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&made.stderr);
    Err(words.trim().replace('\n', " | "))
}

/// Copies a built file without its symbols, or with them where `strip` is missing.
fn strip(built: &Path, to: &Path) -> Result<(), String> {
    let strip = Command::new("strip").arg("-o").arg(to).arg(built).status();
    if !strip.is_ok_and(|status| status.success()) {
        fs::copy(built, to).map_err(|e| e.to_string())?;
    }
    Ok(())
}
