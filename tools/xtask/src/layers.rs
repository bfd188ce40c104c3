//! A folder uses only folders above it in the list; plugins use each other only where they say that
//! they require it, or in tests; every crate has a README.

use crate::Finding;
use crate::tree::{File, Tree};

/// The house, from the ground up.
const LAYERS: [&str; 17] = [
    "sdk", "infra", "wire", "graph", "control", "net", "loader", "drivers", "host", "plugins",
    "bin", "tools", "clients", "tests", "fuzz", "bench", "examples",
];

/// The list of plugins, which uses all of them.
const LIST: &str = "plugins/all";

/// Folders whose crates may not use each other.
const SIBLINGS_APART: [&str; 5] = ["plugins", "bin", "tools", "clients", "tests"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates: Vec<_> = tree.crates().map(|(folder, manifest)| (name(manifest), folder)).collect();
    let mut findings = Vec::new();
    for (folder, manifest) in tree.crates() {
        let Some(level) = level(folder) else {
            findings.push(Finding::new(&manifest.path, 1, "its folder is in no layer"));
            continue;
        };
        if !tree.has(&format!("{folder}/README.md")) {
            findings.push(Finding::new(&manifest.path, 1, "the crate has no README.md"));
        }
        for (line, dependency, is_for_tests) in dependencies(manifest) {
            let Some((_, used)) = crates.iter().find(|(name, _)| *name == dependency) else {
                continue;
            };
            let is_sibling = SIBLINGS_APART.contains(&LAYERS[level]) && level_of(used) == level;
            let is_plugin_test = is_for_tests && LAYERS[level] == "plugins";
            let may_use = folder == LIST || is_plugin_test || requires(tree, folder, dependency);
            let is_apart = is_sibling && !may_use;
            if level_of(used) > level || is_apart {
                let message = format!("{folder} may not use {used}: see the order of folders");
                findings.push(Finding::new(&manifest.path, line, message));
            }
        }
    }
    findings
}

/// Whether a feature of the plugin in `folder` says that it requires another one.
fn requires(tree: &Tree, folder: &str, plugin: &str) -> bool {
    let (sources, name) = (format!("{folder}/src/"), format!("\"{plugin}\""));
    let mut sources = tree.files.iter().filter(|file| file.path.starts_with(&sources));
    sources.any(|source| {
        let behind = source.text.split("requires: &[").skip(1);
        let mut lists = behind.filter_map(|rest| rest.split_once(']'));
        lists.any(|(list, _)| list.contains(&name))
    })
}

/// Position of a crate's folder in the list.
fn level(folder: &str) -> Option<usize> {
    let first = folder.split('/').next()?;
    LAYERS.iter().position(|layer| *layer == first)
}

fn level_of(folder: &str) -> usize {
    level(folder).unwrap_or(LAYERS.len())
}

fn name(manifest: &File) -> &str {
    let value = manifest.text.lines().find_map(|line| line.strip_prefix("name = \""));
    value.unwrap_or_default().trim_end_matches('"')
}

/// Names in the dependency tables of a manifest, with their lines and whether only tests need them.
fn dependencies(manifest: &File) -> Vec<(usize, &str, bool)> {
    let mut found = Vec::new();
    let (mut is_inside, mut is_for_tests) = (false, false);
    for (number, line) in manifest.text.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            is_inside = section.trim_end().ends_with("dependencies]");
            is_for_tests = section.starts_with("dev-");
        } else if is_inside && let Some((key, _)) = line.split_once('=') {
            let name = key.split('.').next().unwrap_or_default().trim();
            found.push((number + 1, name, is_for_tests));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str =
        "[package]\nname = \"graph\"\n[dependencies]\ngraph-derive.workspace = true\n";

    #[test]
    fn only_folders_above_may_be_used() {
        let net = "[package]\nname = \"net\"\n\
            [dependencies]\ngraph = { path = \"x\" }\nserde = \"1\"\n\
            [dev-dependencies]\ndrivers.workspace = true\n[lints]\nplugin = 1\n";
        let tree = Tree::of(&[
            ("graph/Cargo.toml", GRAPH),
            ("graph/README.md", ""),
            ("graph/derive/Cargo.toml", "[package]\nname = \"graph-derive\"\n"),
            ("graph/derive/README.md", ""),
            ("net/Cargo.toml", net),
            ("net/README.md", ""),
            ("drivers/Cargo.toml", "[package]\nname = \"drivers\"\n"),
        ]);
        let found: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "net/Cargo.toml:7: net may not use drivers: see the order of folders",
                "drivers/Cargo.toml:1: the crate has no README.md"
            ]
        );
    }

    #[test]
    fn plugins_use_only_others_that_they_require() {
        let tree = Tree::of(&[
            ("plugins/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("plugins/a/README.md", ""),
            (
                "plugins/b/Cargo.toml",
                "[package]\nname = \"b\"\n[dependencies]\na.workspace = true\n",
            ),
            ("plugins/b/README.md", ""),
        ]);
        assert_eq!(check(&tree).len(), 1);
        let mut tree = tree;
        let requires = "requires: &[\"ip4\", \"a\"],".to_owned();
        tree.files.push(File { path: "plugins/b/src/lib.rs".into(), text: requires });
        assert!(check(&tree).is_empty());
        let tests = "[package]\nname = \"c\"\n[dev-dependencies]\na.workspace = true\n".to_owned();
        tree.files.push(File { path: "plugins/c/Cargo.toml".into(), text: tests });
        tree.files.push(File { path: "plugins/c/README.md".into(), text: String::new() });
        assert!(check(&tree).is_empty(), "tests may");
    }
}
