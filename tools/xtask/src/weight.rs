//! Weight of the built daemon: code by crate, and functions compiled again and again.
//!
//! The budget in `docs/reference/weight.txt` is what the daemon may weigh at most; it only falls.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Budgets, a name and a number of bytes in each line.
pub const BUDGET: &str = "docs/reference/weight.txt";

/// Crates and functions listed.
const LISTED: usize = 25;
/// Bytes of a stripped program beside its code and data.
const SLACK: u64 = 4096;

/// Code of one kind: copies and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Code {
    copies: u64,
    bytes: u64,
}

/// Prints what a built program weighs; fails where it is more than its budget in `root`.
pub fn check(program: &Path, root: &Path) -> ExitCode {
    match weigh(program, root) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("weight: {why}");
            ExitCode::FAILURE
        }
    }
}

fn weigh(program: &Path, root: &Path) -> Result<bool, String> {
    let symbols = run(Command::new("nm").args(["-C", "--print-size"]).arg(program))?;
    let symbols: Vec<_> = symbols.lines().filter_map(function).collect();
    let text: u64 = symbols.iter().map(|(_, bytes)| bytes).sum();
    println!("{:>9} functions, {} kB of code", symbols.len(), text / 1024);
    list("by crate", symbols.iter().map(|(name, bytes)| (crate_of(name), *bytes)));
    list("by function, all copies", symbols.iter().map(|(name, bytes)| (kind_of(name), *bytes)));
    let stripped = stripped(program)?;
    println!("\n{stripped} bytes stripped");
    let path = root.join(BUDGET);
    let budget = std::fs::read_to_string(&path).map_err(|e| format!("{BUDGET}: {e}"))?;
    let most = budget.trim().parse::<u64>().map_err(|_| format!("{BUDGET}: not a number"))?;
    if stripped > most {
        println!("weight: {} bytes more than {BUDGET} allows", stripped - most);
    }
    Ok(stripped <= most)
}

/// Prints the heaviest of these.
fn list(title: &str, parts: impl Iterator<Item = (String, u64)>) {
    let mut sums: BTreeMap<String, Code> = BTreeMap::new();
    for (name, bytes) in parts {
        let sum = sums.entry(name).or_default();
        *sum = Code { copies: sum.copies + 1, bytes: sum.bytes + bytes };
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, code)| std::cmp::Reverse(code.bytes));
    println!("\n{title}\n{:>9} {:>7}", "kB", "copies");
    for (name, Code { copies, bytes }) in sums.into_iter().take(LISTED) {
        println!("{:>9} {copies:>7} {name}", bytes / 1024);
    }
}

/// Bytes of what the loader maps, and the tables that go with it: a stripped program.
fn stripped(program: &Path) -> Result<u64, String> {
    let sections = run(Command::new("size").arg("-B").arg(program))?;
    let row = sections.lines().nth(1).unwrap_or_default();
    let sizes: Vec<u64> = row.split_whitespace().take(2).flat_map(str::parse).collect();
    let [text, data] = sizes[..] else { return Err(format!("size: {sections}")) };
    Ok(text + data + SLACK)
}

fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Name and size of a function in a line of `nm`.
fn function(line: &str) -> Option<(&str, u64)> {
    let mut parts = line.splitn(4, ' ');
    let (_, size, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let size = u64::from_str_radix(size, 16).ok()?;
    matches!(kind, "t" | "T" | "w" | "W").then_some((parts.next()?, size))
}

/// The crate of a function: of the type that a method is of, or of the first type in it that is
/// none of the standard library's.
fn crate_of(name: &str) -> String {
    let of = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let paths = name.split(of).filter(|path| path.contains("::"));
    let mut crates = paths.filter_map(|path| path.split("::").next()).filter(|n| !n.is_empty());
    let first = crates.clone().next();
    let ours = crates.find(|name| !matches!(*name, "core" | "alloc" | "std" | "hashbrown"));
    ours.or(first).unwrap_or("(C)").to_owned()
}

/// A function's name without types that it is generic over.
fn kind_of(name: &str) -> String {
    let mut kind = String::new();
    let (mut depth, mut rest) = (0_usize, name);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("::<") {
            depth += 1;
            rest = &rest[3..];
            continue;
        }
        match c {
            '<' if depth > 0 => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => kind.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_from_data() {
        let line = "0000000000014a30 0000000000000024 t net::fib::control::resolve";
        assert_eq!(function(line), Some(("net::fib::control::resolve", 0x24)));
        assert_eq!(function("0000000000014a30 0000000000000024 r net::TABLE"), None);
        assert_eq!(function("                 U malloc"), None);
    }

    #[test]
    fn crates_are_those_of_types() {
        assert_eq!(crate_of("net::fib::resolve"), "net");
        assert_eq!(crate_of("<net::A as graph::Node>::process"), "net");
        assert_eq!(crate_of("core::ptr::drop_in_place<acl::Rule>"), "acl");
        assert_eq!(crate_of("core::fmt::write"), "core");
        assert_eq!(crate_of("memcpy"), "(C)");
    }

    #[test]
    fn copies_of_a_function_are_one_kind() {
        assert_eq!(kind_of("a::b::<u8, c::D<u16>>::e::<f::G>"), "a::b::e");
        assert_eq!(kind_of("<a::B as c::D>::e"), "<a::B as c::D>::e");
    }
}
