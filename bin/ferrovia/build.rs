//! Tells the program who built it, from which commit, where and when, for `show version`.
//!
//! `SOURCE_DATE_EPOCH` (seconds since 1970) takes the place of the clock for reproducible builds.

use std::env;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Written by git at each commit.
const LOG: &str = "../../.git/logs/HEAD";

/// The name of the user this runs as.
fn user() -> Option<String> {
    let about = fs::metadata("/proc/self").ok()?;
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let number = std::os::unix::fs::MetadataExt::uid(&about).to_string();
    let is_it = |line: &&str| line.split(':').nth(2) == Some(&number);
    users.lines().find(is_it).and_then(|line| line.split(':').next()).map(str::to_owned)
}

/// The first digits of the commit that is built.
fn commit() -> Option<String> {
    let log = fs::read_to_string(LOG).ok()?;
    let commit = log.lines().last()?.split(' ').nth(1)?;
    commit.get(..8).map(str::to_owned)
}

fn main() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let date = env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let fixed = date.is_some();
    let user = env::var("USER").or_else(|_| env::var("LOGNAME")).ok().or_else(user);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let known = |name: Option<String>| match name {
        Some(name) if !fixed && !name.trim().is_empty() => name.trim().to_owned(),
        _ => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=BUILT_BY={}", known(user));
    println!("cargo:rustc-env=BUILT_ON={}", known(host));
    println!("cargo:rustc-env=BUILT_AT={}", date.unwrap_or_else(now));
    println!("cargo:rustc-env=COMMIT={}", commit().unwrap_or_default());
    if fs::exists(LOG).unwrap_or_default() {
        println!("cargo:rerun-if-changed={LOG}");
    }
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo:rerun-if-changed=build.rs");
    link_small();
}

/// Makes the linker that ships with rustc fold identical functions, such as drops of the same type
/// in many crates, and write relocations in a tenth of their size.
fn link_small() {
    let is = |name, value| env::var(name).is_ok_and(|is| is == value);
    if is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all,-z,pack-relative-relocs");
    }
}
