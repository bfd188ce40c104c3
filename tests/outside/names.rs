//! Nodes are called what clients of the original know.
//!
//! `FERROVIA_REFERENCE` names a folder with `spec/node-names.txt`: a name a line, some of them cut
//! to 26 characters. What we have beyond that list is in `names-allowed.txt`, reviewed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use net::Parts;
use tests::skip;

/// The nodes that are there before any interface is made.
fn ours() -> BTreeSet<String> {
    let Parts { router, .. } = crate::parts();
    router.engine.node_names().map(|(_, name)| name.to_owned()).collect()
}

/// The lines of a file that are neither empty nor comments.
fn lines(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A name as the list may have it.
fn cut(name: &str) -> &str {
    &name[..name.len().min(26)]
}

#[test]
fn names_are_the_originals_or_reviewed() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no lists to compare with");
        return;
    };
    let known = lines(&Path::new(&reference).join("spec/node-names.txt"));
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
