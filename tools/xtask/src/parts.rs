//! Parts that are written by hand where a declaration should do, counted.
//!
//! `tools/xtask/parts.txt` is the most there may be of each; `cargo xtask bless` lowers it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use crate::source::Source;
use crate::tree::Tree;

/// Allowances, a number and a name in each line.
pub const ALLOWED: &str = "tools/xtask/parts.txt";

/// Modules of `net` below IP, which may add methods to `Router`.
const GROUND: [&str; 12] = [
    "adjacency",
    "drops",
    "engine",
    "ethernet",
    "events",
    "flow_hash",
    "gso",
    "health",
    "interface",
    "router",
    "statistics",
    "trace",
];
/// Files of plugins that face outward: commands, messages, rows, configuration, errors.
const OUTWARD: [&str; 14] = [
    "api", "cli", "show", "conf", "messages", "commands", "rows", "convert", "json", "dump",
    "error", "print", "details", "parse",
];
/// Names of traits for one node in several places.
const PLACES: [&str; 3] = ["Place", "Station", "Clamped"];
/// Plugins whose size stands for that of others: whether tests count, and the lines to reach.
const SAMPLES: [(&str, bool, usize); 3] =
    [("policer", true, 1850), ("mss_clamp", true, 440), ("vxlan", false, 400)];

/// A count: its name, its number now, the number to reach.
struct Part {
    name: String,
    now: usize,
    aim: usize,
}

impl Part {
    fn new(name: impl Into<String>, now: usize, aim: usize) -> Self {
        Self { name: name.into(), now, aim }
    }
}

pub fn report(tree: &Tree) -> ExitCode {
    let allowed = allowances(tree);
    let mut wrong = 0;
    println!("{:>9} {:>9} {:>9}", "now", "at most", "aim");
    for Part { name, now, aim } in parts(tree) {
        let most = allowed.get(&*name).copied().unwrap_or_default();
        let remark = match now.cmp(&most) {
            std::cmp::Ordering::Greater => " too many",
            std::cmp::Ordering::Less => " `cargo xtask bless` lowers it",
            std::cmp::Ordering::Equal => "",
        };
        wrong += usize::from(now > most);
        println!("{now:>9} {most:>9} {aim:>9} {name}{remark}");
    }
    println!("parts: {wrong} not allowed");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The allowances, none higher than it was.
pub fn lowered(tree: &Tree) -> String {
    let allowed = allowances(tree);
    let mut text = String::new();
    for Part { name, now, .. } in parts(tree) {
        let most = allowed.get(&*name).copied().unwrap_or(now);
        let _ = writeln!(text, "{} {name}", now.min(most));
    }
    text
}

fn allowances(tree: &Tree) -> BTreeMap<&str, usize> {
    let list = tree.files.iter().find(|file| file.path == ALLOWED);
    let lines = list.map(|file| file.text.lines()).into_iter().flatten();
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(count, name)| Some((name, count.parse().ok()?))).collect()
}

fn parts(tree: &Tree) -> Vec<Part> {
    let is_apart = |s: &&Source| s.path.starts_with("sdk/") || s.path.starts_with("tools/");
    let sources = || tree.sources.iter().filter(|s| !is_apart(s));
    let lines = |is_one: &dyn Fn(&str) -> bool| {
        sources().flat_map(|s| s.code.lines()).filter(|line| is_one(line)).count()
    };
    let places = sources().filter(|s| !s.path.starts_with("infra/"));
    let places = places.flat_map(|s| s.code.lines()).filter(|line| is_trait_for_places(line));
    let above = sources().filter(|s| is_above_ground(&s.path));
    let above = above.flat_map(|s| s.code.lines()).filter(|line| is_impl(line, "Router {"));
    let states = |word| sources().map(|s| s.code.matches(word).count()).sum::<usize>();
    let mut all = vec![
        Part::new("commands parsed by hand", lines(&|l| is_impl(l, "Command for ")), 60),
        Part::new("commands printed by hand", lines(&|l| is_impl(l, "Print for ")), 30),
        Part::new("transparent wrappers", lines(&|l| l.contains("serde(transparent)")), 0),
        Part::new("impls of Display", lines(&|l| is_impl(l.trim_start(), "Display for ")), 160),
        Part::new("enumerations that are no enums", lines(&is_numbers), 0),
        Part::new("traits for places", places.count(), 0),
        Part::new("look-ups of states by type", states("own::<") + states("own_mut::<"), 0),
        Part::new("impls of Router above the ground", above.count(), 0),
        Part::new("outward per mille of plugins", outward(tree), 310),
        Part::new("lines of the largest crate", largest(tree), 30_000),
    ];
    for (name, with_tests, aim) in SAMPLES {
        let folder = format!("plugins/{name}/");
        let own = tree.sources.iter().filter(|s| s.path.starts_with(&folder));
        let count = |s: &Source| if with_tests { s.text.lines().count() } else { untested(s) };
        all.push(Part::new(format!("lines of {name}"), own.map(count).sum(), aim));
    }
    all
}

/// `impl … Command for X {`, under whatever path `Command` is named.
fn is_impl(line: &str, of: &str) -> bool {
    let before = line.strip_prefix("impl").and_then(|rest| rest.split_once(of));
    before.is_some_and(|(before, _)| before.ends_with([' ', ':']))
}

/// `enum X: u8 =`, which only macros understand.
fn is_numbers(line: &str) -> bool {
    let Some((before, after)) = line.split_once(": u") else { return false };
    before.contains("enum ") && after.trim_start_matches(char::is_numeric).starts_with(" = ")
}

fn is_trait_for_places(line: &str) -> bool {
    let name = line.split_once("trait ").map(|(_, rest)| rest);
    name.is_some_and(|name| PLACES.iter().any(|place| name.starts_with(&format!("{place}:"))))
}

fn is_above_ground(path: &str) -> bool {
    let module = path.strip_prefix("net/src/").map(|rest| rest.split(['/', '.']).next());
    module.is_some_and(|module| module.is_none_or(|module| !GROUND.contains(&module)))
}

/// Lines that are no tests.
fn untested(source: &Source) -> usize {
    (0..source.text.lines().count()).filter(|line| !source.is_test_line(*line)).count()
}

/// Lines of plugins in files whose names say that they face outward, in thousandths of all.
fn outward(tree: &Tree) -> usize {
    let own = tree.sources.iter().filter_map(|s| Some((s.path.strip_prefix("plugins/")?, s)));
    let (mut outward, mut all) = (0, 0);
    for (path, source) in own {
        let inner = path.split_once('/').map_or(path, |(_, inner)| inner);
        let lines = untested(source);
        outward += if OUTWARD.iter().any(|word| inner.contains(word)) { lines } else { 0 };
        all += lines;
    }
    outward * 1000 / all.max(1)
}

fn largest(tree: &Tree) -> usize {
    let lines = |folder: &str| -> usize {
        let folder = format!("{folder}/");
        let own = tree.sources.iter().filter(|s| s.path.starts_with(&folder));
        own.map(|s| s.text.lines().count()).sum()
    };
    tree.crates().map(|(folder, _)| lines(folder)).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_outside_comments() {
        let text =
            "/// impl Command for A {}\nimpl Command for A {}\nimpl<T> cli::Command for B {\n";
        let text =
            format!("{text}pub enum C: u8 = \"c\" in \"\" {{\nenum D {{\nrouter.own::<E>();\n");
        let tree = Tree::of(&[("plugins/a/src/api.rs", &text)]);
        let counts: Vec<_> = parts(&tree).iter().map(|part| part.now).collect();
        assert_eq!(counts[..9], [2, 0, 0, 0, 1, 0, 1, 0, 1000]);
    }

    #[test]
    fn ground_is_below_ip() {
        let above = ["net/src/fib/a.rs", "net/src/ip.rs"];
        assert!(above.iter().all(|path| is_above_ground(path)));
        assert!(!is_above_ground("net/src/router.rs") && !is_above_ground("bin/a.rs"));
    }

    #[test]
    fn counts_only_fall() {
        let code = ("a/src/lib.rs", "impl Print for A {\n");
        let allowed = lowered(&Tree::of(&[code]));
        assert!(allowed.contains("1 commands printed by hand\n"));
        let none = lowered(&Tree::of(&[(ALLOWED, &allowed)]));
        assert!(none.contains("0 commands printed by hand\n"));
        assert_eq!(lowered(&Tree::of(&[code, (ALLOWED, &none)])), none);
    }
}
