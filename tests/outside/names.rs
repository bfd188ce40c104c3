//! Nodes and their counters are called what clients of the original know.
//!
//! `FERROVIA_REFERENCE` names a folder with `spec/node-names.txt`: a name a line, some of them cut
//! to 26 characters, `spec/error-counters.txt`: `/err/<node>/<counter>`, and
//! `spec/cli-commands.txt`: a command, a tab and its usage. What we have beyond the first two is in
//! `*-allowed.txt`, reviewed; which commands we lack and why is in
//! `docs/reference/commands-missing.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use net::Assembly;
use tests::{Daemon, skip};

/// Counter of failures at every node: there is no such thing in the original.
const FAILED: &str = "node_failed";

/// The lines of a file that are neither empty nor comments.
fn lines(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Compares names with a list of the original; what it lacks must have been reviewed.
fn compare(
    ours: &BTreeSet<String>,
    list: &str,
    allowed: &str,
    is_known: fn(&BTreeSet<String>, &str) -> bool,
) {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no lists to compare with");
        return;
    };
    let known = lines(&Path::new(&reference).join(list));
    let allowed = lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("outside").join(allowed));
    let beyond: Vec<_> = ours.iter().filter(|name| !is_known(&known, name)).collect();
    eprintln!("{} names, {} beyond the original's: {beyond:#?}", ours.len(), beyond.len());
    let unreviewed: Vec<_> = beyond.into_iter().filter(|name| !allowed.contains(*name)).collect();
    assert!(unreviewed.is_empty(), "neither the original's nor reviewed: {unreviewed:#?}");
    let idle: Vec<_> = allowed.iter().filter(|name| !ours.contains(*name)).collect();
    assert!(idle.is_empty(), "allowed but not there: {idle:#?}");
}

#[test]
fn nodes_are_the_originals_or_reviewed() {
    let Assembly { router, .. } = crate::parts();
    let ours = router.engine.node_names().map(|(_, name)| name.to_owned()).collect();
    let is_known = |known: &BTreeSet<String>, name: &str| {
        known.contains(name) || known.contains(&name[..name.len().min(26)])
    };
    compare(&ours, "spec/node-names.txt", "names-allowed.txt", is_known);
}

#[test]
fn counters_are_the_originals_or_reviewed() {
    let Assembly { router, .. } = crate::parts();
    let counters = router.engine.counters().filter(|c| c.2.name != FAILED);
    let ours = counters.map(|(_, node, text, _)| format!("/err/{node}/{}", text.name)).collect();
    compare(&ours, "spec/error-counters.txt", "counters-allowed.txt", |known, name| {
        known.contains(name)
    });
}

/// The phrases of `commands-missing.md`: what stands in code before the colon of an item.
fn phrases() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/commands-missing.md");
    let text = fs::read_to_string(path).unwrap();
    let items = text.split("\n- ").skip(1).map(|item| item.split("`:").next().unwrap());
    let spans = items.flat_map(|item| item.split('`').skip(1).step_by(2));
    spans.map(|phrase| phrase.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn commands_are_the_originals_or_explained() {
    let Some(reference) = std::env::var_os("FERROVIA_REFERENCE") else {
        skip("FERROVIA_REFERENCE names no lists to compare with");
        return;
    };
    let ours = Daemon::start(&[]).tell("show cli");
    let ours: BTreeSet<_> = ours.lines().collect();
    let list = fs::read_to_string(Path::new(&reference).join("spec/cli-commands.txt")).unwrap();
    let theirs = list.lines().filter_map(|line| line.split('\t').next());
    let missing: Vec<_> = theirs.filter(|path| !ours.contains(path)).collect();
    let phrases = phrases();
    let contains = |path: &str, phrase: &[String]| {
        let words: Vec<_> = path.split_whitespace().collect();
        words.windows(phrase.len()).any(|part| part == phrase)
    };
    let is_explained = |path: &str| phrases.iter().any(|phrase| contains(path, phrase));
    eprintln!("{} commands, {} of the original's missing", ours.len(), missing.len());
    let unexplained: Vec<_> = missing.iter().filter(|path| !is_explained(path)).collect();
    assert!(unexplained.is_empty(), "neither there nor explained: {unexplained:#?}");
    let is_idle = |phrase: &&Vec<String>| !missing.iter().any(|path| contains(path, phrase));
    let idle: Vec<_> = phrases.iter().filter(is_idle).collect();
    assert!(idle.is_empty(), "explained, but nothing is missing: {idle:#?}");
}
