//! The fence around unsafe code: the modules that may have it, the proof of each use, and their
//! number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Finding;
use crate::source::Source;
use crate::tree::Tree;

/// The only modules that may contain unsafe code: the file of that name or the folder.
const FENCED: &[&str] = &[
    "clients/preload/src/abi",
    "clients/vcl/src/abi",
    "host/lanes/src/map",
    "infra/src/cpu",
    "infra/src/memory",
    "infra/src/rcu",
    "infra/src/ring",
    "infra/src/table",
    "graph/src/buffer",
    "graph/src/engine",
    "graph/src/worker",
    "drivers/src/af_packet/ring",
    "drivers/src/af_xdp/kernel",
    "drivers/src/dpdk/shim",
    "drivers/src/netmap/kernel",
    "drivers/src/shared",
    "drivers/src/tap/device",
    "loader/src/host",
    "loader/src/object",
    "plugins/bpf_trace_filter/src/libpcap",
    "plugins/crypto/src/cbc",
    "plugins/crypto/src/gcm",
    "plugins/crypto/src/lanes",
    "sdk/src/abi",
    "sdk/src/raw",
];

/// Uses of unsafe code in each crate, as reviewed.
pub const COUNTS: &str = "docs/reference/unsafe.txt";

/// A `SAFETY` comment may stand this many lines above what it explains.
const REACH: usize = 12;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        let uses: Vec<_> = source.words("unsafe").map(|at| source.line_of(at)).collect();
        if is_fenced(&source.path) {
            findings.extend(uses.iter().filter_map(|line| unexplained(source, *line)));
        } else if let Some(line) = uses.first() {
            findings.push(Finding::new(&source.path, line + 1, "unsafe code outside the fence"));
        } else if !is_forbidden(tree, source) {
            let message = "neither it nor a module above it says #![forbid(unsafe_code)]";
            findings.push(Finding::new(&source.path, 1, message));
        }
    }
    findings.extend(compare(tree));
    findings
}

/// Text of the file of counts for the tree as it is.
pub fn counts(tree: &Tree) -> String {
    let mut counts = BTreeMap::new();
    for source in &tree.sources {
        let folder = source.path.split("/src/").next().unwrap_or_default();
        *counts.entry(folder).or_insert(0) += source.words("unsafe").count();
    }
    let mut text = String::new();
    for (folder, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        writeln!(text, "{folder} {count}").expect("writing to a string cannot fail");
    }
    text
}

fn compare(tree: &Tree) -> Option<Finding> {
    let reviewed = tree.files.iter().find(|file| file.path == COUNTS);
    let (reviewed, now) = (reviewed.map_or("", |file| file.text.as_str()), counts(tree));
    let changed: Vec<_> =
        now.lines().filter(|line| !reviewed.lines().any(|l| l == *line)).collect();
    let is_same = reviewed == now;
    let message = format!("not as reviewed, now `{}`: cargo xtask bless", changed.join("`, `"));
    (!is_same).then(|| Finding::new(COUNTS, 1, message))
}

fn is_fenced(path: &str) -> bool {
    FENCED.iter().any(|module| {
        let rest = path.strip_prefix(module);
        rest.is_some_and(|rest| rest == ".rs" || rest == "s.rs" || rest.starts_with('/'))
    })
}

/// The finding about a use of `unsafe` at `line` (from zero) that does not say why it is sound.
fn unexplained(source: &Source, line: usize) -> Option<Finding> {
    let above = source.text.lines().skip(line.saturating_sub(REACH)).take(REACH.min(line) + 1);
    let is_explained = above.into_iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety"));
    let line_of = source.text.lines().nth(line)?;
    let is_type = line_of.contains("unsafe fn(") || line_of.contains("unsafe extern \"C\" fn(");
    let message = "unsafe without a SAFETY comment";
    (!is_explained && !is_type).then(|| Finding::new(&source.path, line + 1, message))
}

/// Whether `source` or a module it is in forbids unsafe code. Tests, examples and the root of a
/// crate with fenced modules need not, since they have none (which is checked).
fn is_forbidden(tree: &Tree, source: &Source) -> bool {
    let Some((folder, module)) = source.path.split_once("/src/") else { return true };
    let root = |name: &str| name == "lib.rs" || name == "main.rs" || name.starts_with("bin/");
    // A module above a fenced one cannot forbid what that may do.
    let below = if root(module) { Some("") } else { module.strip_suffix("mod.rs") };
    let has_fence = |below| {
        let above = format!("{folder}/src/{below}");
        FENCED.iter().any(|fenced| fenced.starts_with(&above))
    };
    if source.is_test_file() || below.is_some_and(has_fence) {
        return true;
    }
    ancestors(module).iter().any(|name| {
        let path = format!("{folder}/src/{name}");
        let says = |s: &&Source| s.path == path && s.code.contains("#![forbid(unsafe_code)]");
        tree.sources.iter().any(|source| says(&source))
    })
}

/// The files that may hold the modules above `module` (a path below `src`), and itself.
fn ancestors(module: &str) -> Vec<String> {
    let mut files = vec![module.to_owned(), "lib.rs".into(), "main.rs".into()];
    let mut rest = module;
    while let Some((above, _)) = rest.rsplit_once('/') {
        files.push(format!("{above}/mod.rs"));
        files.push(format!("{above}.rs"));
        rest = above;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::of(files);
        check(&tree).iter().filter(|f| f.path != COUNTS).map(ToString::to_string).collect()
    }

    #[test]
    fn unsafe_is_allowed_inside_the_fence_with_a_reason() {
        let block = "// SAFETY: because.\nunsafe { f() }\n";
        assert!(
            findings(&[("infra/src/rcu.rs", block), ("infra/src/ring/x.rs", block)]).is_empty()
        );
        assert_eq!(
            findings(&[("infra/src/rcu.rs", "\nunsafe { f() }\n"), ("infra/src/time.rs", block)]),
            [
                "infra/src/rcu.rs:2: unsafe without a SAFETY comment",
                "infra/src/time.rs:2: unsafe code outside the fence"
            ]
        );
    }

    #[test]
    fn modules_outside_forbid_it_or_live_under_one_that_does() {
        let forbid = "#![forbid(unsafe_code)]\n";
        let files = [
            ("infra/src/lib.rs", ""),
            ("infra/src/time.rs", forbid),
            ("infra/src/log/mod.rs", forbid),
            ("infra/src/log/a/b.rs", ""),
            ("infra/src/free.rs", ""),
            ("wire/src/lib.rs", forbid),
            ("wire/src/ip4.rs", ""),
            ("net/src/lib.rs", ""),
        ];
        let found = findings(&files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("infra/src/free.rs") && found[1].starts_with("net/src/lib.rs")
        );
    }

    #[test]
    fn counts_are_by_crate() {
        let tree = Tree::of(&[
            ("infra/src/rcu.rs", "unsafe {} unsafe {} // unsafe"),
            ("infra/src/ring.rs", "unsafe {}"),
            ("wire/src/lib.rs", "\"unsafe\""),
        ]);
        assert_eq!(counts(&tree), "infra 3\n");
        assert_eq!(check(&tree).iter().filter(|f| f.path == COUNTS).count(), 1);
    }
}
