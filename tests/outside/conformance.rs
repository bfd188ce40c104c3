//! `docs/reference/conformance.md` names tests that there are.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of tests, and the first parts of the names of their modules.
const SOURCES: &[&str] = &[
    "infra/src",
    "wire/src",
    "graph/src",
    "control/src",
    "net/src",
    "host",
    "plugins",
    "plugins/ikev2/src",
    "plugins/ipsec/src",
    "drivers/src",
    "bin",
    "fuzz/tests",
    "host/lanes/src",
    "host/stack/src",
    "host/tcp/src",
    "host/tcp/tests",
    "tests/outside",
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All sources below a folder by the path of their module, such as `icmp::tests`.
fn modules(folder: &Path, path: &str, all: &mut HashMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let stem = name.strip_suffix(".rs").unwrap_or(&name);
        let here = match stem {
            "mod" | "lib" => path.to_owned(),
            _ if path.is_empty() => stem.to_owned(),
            _ => format!("{path}::{stem}"),
        };
        if entry.path().is_dir() {
            modules(&entry.path(), &here, all);
        } else if stem != name {
            all.entry(here).or_default().push_str(&fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Whether there is a test of a name such as `icmp::tests::echo`.
pub fn tests() -> impl Fn(&str) -> bool {
    let mut all = HashMap::new();
    SOURCES.iter().for_each(|folder| modules(&root().join(folder), "", &mut all));
    move |name| {
        let Some((module, function)) = name.rsplit_once("::") else { return false };
        let outer = module.strip_suffix("::tests").unwrap_or(module);
        let declared = format!("fn {function}(");
        [module, outer].iter().any(|m| all.get(*m).is_some_and(|text| text.contains(&declared)))
    }
}

#[test]
fn every_test_that_shows_conformance_is_there() {
    let is_there = tests();
    let list = fs::read_to_string(root().join("docs/reference/conformance.md")).unwrap();
    let rows: Vec<_> = list.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 20, "{} rows", rows.len());
    let mut last = 0;
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{row}");
        // Standards of the IEEE come behind all RFCs.
        let behind = cells[0].starts_with("IEEE ").then_some(u32::MAX);
        let number = cells[0].split(',').next().and_then(|n| n.parse().ok()).or(behind);
        let number = number.unwrap_or_else(|| panic!("not the number of an RFC: {row}"));
        assert!(number >= last, "not in order: {row}");
        last = number;
        let names: Vec<_> = cells[3].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        let missing: Vec<_> = names.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "there is no test {missing:?}");
    }
}
