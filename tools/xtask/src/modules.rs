//! Modules of `net` use only modules of their own floor and of the floors before it.

use crate::Finding;
use crate::source::Source;

/// The floors of `net`, from the ground up. Modules of one floor may use each other.
const FLOORS: [&[&str]; 12] = [
    &["events", "flow_hash", "gso", "health"],
    &["interface"],
    &["ethernet", "drops", "engine", "statistics", "trace"],
    &["adjacency"],
    &["fib"],
    &["address"],
    &["ip", "ip4", "ip6", "fragment", "reassembly", "path_mtu"],
    &["fast_path"],
    &["mfib", "icmp"],
    &["teib", "tunnel"],
    &["neighbor", "arp", "nd"],
    &["punt"],
];

/// Modules of all floors: the router, names of all modules for plugins, its rigs.
const SHARED: [&str; 4] = ["lib", "prelude", "router", "testing"];

pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let inside = sources.iter().filter_map(|s| Some((s, s.path.strip_prefix("net/src/")?)));
    for (source, path) in inside {
        let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let is_rig = path.ends_with("/testing.rs");
        if SHARED.contains(&module) || is_rig {
            continue;
        }
        let Some(own) = floor(module) else {
            findings.push(Finding::new(&source.path, 1, format!("{module} is on no floor of net")));
            continue;
        };
        for (at, name) in uses(&source.code) {
            let line = source.line_of(at);
            let Some((to, other)) = known(name) else { continue };
            if other > own && !source.is_test_line(line) {
                let text = format!("net::{module} may not use net::{to}: see the order of modules");
                findings.push(Finding::new(&source.path, line + 1, text));
            }
        }
    }
    findings
}

fn floor(module: &str) -> Option<usize> {
    known(module).map(|(_, floor)| floor)
}

/// A module's name in the list, and its floor.
fn known(module: &str) -> Option<(&'static str, usize)> {
    let mut all =
        FLOORS.iter().enumerate().flat_map(|(n, floor)| floor.iter().map(move |m| (*m, n)));
    all.find(|(name, _)| *name == module)
}

/// Names behind `crate::`, also in braces, with their places.
fn uses(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push((at, word(rest)));
            continue;
        };
        let (mut depth, mut is_start) = (0, true);
        for (offset, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => is_start = true,
                c if c.is_whitespace() => (),
                _ if is_start => {
                    found.push((at, word(&list[offset..])));
                    is_start = false;
                }
                _ => (),
            }
        }
    }
    found
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let all = check(&[Source::new(path.to_owned(), text.to_owned())]);
        let is_here = |finding: &Finding| finding.path == path;
        all.into_iter().filter(is_here).map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn modules_use_floors_before_their_own() {
        let good =
            "use crate::interface::X;\nuse crate::{drops, ip4};\n#[cfg(test)]\nuse crate::arp;\n";
        assert!(found("net/src/ip6/mod.rs", good).is_empty());
        let bad = "// crate::punt\nuse crate::{\n    fib::{A, punt},\n    punt as p,\n};\n";
        let message =
            "net/src/gso/x.rs:2: net::gso may not use net::punt: see the order of modules";
        assert!(found("net/src/gso/x.rs", bad).iter().any(|finding| finding == message));
        let stray = found("net/src/nowhere/mod.rs", "");
        assert_eq!(stray, ["net/src/nowhere/mod.rs:1: nowhere is on no floor of net"]);
        assert!(
            found("net/src/router.rs", bad).is_empty() && found("wire/src/x.rs", bad).is_empty()
        );
    }
}
