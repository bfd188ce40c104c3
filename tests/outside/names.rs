//! Names of nodes and counters are those that clients of the original know.
//!
//! `FERROVIA_REFERENCE` names a folder with `spec/node-names.txt` (a name a line) and
//! `spec/error-counters.txt` (`/err/NODE/COUNTER` a line; names of nodes are cut to 26 characters). What we have beyond those lists is in
//! `names-allowed.txt`, reviewed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use net::Parts;
use tests::skip;

/// Nodes as they are called, counters as `/err/NODE/COUNTER`.
fn ours() -> BTreeSet<String> {
    let Parts { router, .. } = crate::parts();
    let mut names: BTreeSet<_> =
        router.engine.node_names().map(|(_, name)| name.to_owned()).collect();
    for (_, node, text, _) in router.engine.errors() {
        // Every node has this one of ours.
        if text.name != "node_failed" {
            names.insert(format!("/err/{node}/{}", text.name));
        }
    }
    names
}

/// The lines of a file that are neither empty nor comments.
fn lines(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A node's name as the list has it.
fn cut(name: &str) -> &str {
    match name.starts_with('/') {
        true => name,
        false => &name[..name.len().min(26)],
    }
}

#[test]
fn names_are_the_originals_or_reviewed() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no lists to compare with");
        return;
    };
    let reference = Path::new(&reference).join("spec");
    let mut known = lines(&reference.join("node-names.txt"));
    known.extend(lines(&reference.join("error-counters.txt")));
    let allowed =
        lines(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/outside/names-allowed.txt")));
    let ours = ours();
    let is_known = |name: &str| known.contains(name) || known.contains(cut(name));
    let beyond: Vec<_> = ours.iter().filter(|name| !is_known(name)).collect();
    eprintln!("{} names, {} beyond the original's: {beyond:#?}", ours.len(), beyond.len());
    let unreviewed: Vec<_> = beyond.into_iter().filter(|name| !allowed.contains(*name)).collect();
    assert!(unreviewed.is_empty(), "neither the original's nor reviewed: {unreviewed:#?}");
    let idle: Vec<_> = allowed.iter().filter(|name| !ours.contains(*name)).collect();
    assert!(idle.is_empty(), "allowed but not there: {idle:#?}");
}
