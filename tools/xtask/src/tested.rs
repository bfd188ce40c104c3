//! Tests that there are run: units of a library, and those of plugins both with
//! `cargo test -p PLUGIN` and in the program of all.

use crate::Finding;
use crate::tree::{File, Tree};

/// The program of the tests of all plugins.
const ALL: &str = "plugins/all/tests/packets.rs";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.crates().flat_map(|(folder, manifest)| of_crate(tree, folder, manifest)).collect()
}

fn of_crate(tree: &Tree, folder: &str, manifest: &File) -> Vec<Finding> {
    let all = tree.files.iter().find(|file| file.path == ALL).map_or("", |file| &file.text);
    let plugin = folder.strip_prefix("plugins/").filter(|name| *name != "all");
    let mut findings = Vec::new();
    for file in &tree.files {
        let within = file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        let Some(within) = within.filter(|path| path.ends_with(".rs") && has_test(file)) else {
            continue;
        };
        let missing =
            |why: &str| Finding::new(&file.path, 1, format!("its tests do not run: {why}"));
        if within.starts_with("src/") {
            if manifest.text.lines().any(|line| line.starts_with("test = false")) {
                findings.push(missing("the library has `test = false'"));
            }
        } else if let Some(plugin) = plugin {
            // A file in a folder is a module of the folder's `mod.rs`.
            let root = within.split_once('/').map(|(inner, _)| format!("{inner}/mod.rs"));
            let root = root.as_deref().unwrap_or(within);
            // Those that need tests of others are modules of one file.
            let own = tree.files.iter().find(|f| f.path == format!("{folder}/own_tests.rs"));
            let is_module = own.is_some_and(|own| own.text.contains(&format!("\"{root}\"")));
            let target = if is_module { "own_tests.rs" } else { root };
            if !manifest.text.contains(&format!("\npath = \"{target}\"")) {
                findings.push(missing(&format!("{folder}/Cargo.toml has no [[test]] for {root}")));
            }
            if !all.contains(&format!("\"../../{plugin}/{root}\"")) {
                findings.push(missing(&format!("{ALL} has no module of it")));
            }
        }
    }
    findings
}

fn has_test(file: &File) -> bool {
    file.text.lines().any(|line| line.trim_start() == "#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "#[test]\nfn it_works() {}\n";

    #[test]
    fn a_plugin_with_tests_that_do_not_run_is_found() {
        let all = "#[path = \"../../a/tests.rs\"]\nmod a;\n";
        let manifest = "[lib]\n\n[[test]]\nname = \"tests\"\npath = \"tests.rs\"\n";
        let is_fine = |manifest: &str, path: &str, all: &str| {
            let files = [("plugins/a/Cargo.toml", manifest), (path, TEST), (ALL, all)];
            check(&Tree::of(&files)).is_empty()
        };
        assert!(is_fine(manifest, "plugins/a/tests.rs", all));
        assert!(!is_fine("[lib]\n", "plugins/a/tests.rs", all), "not with the plugin");
        assert!(!is_fine(manifest, "plugins/a/tests.rs", ""), "not with all");
        assert!(!is_fine(manifest, "plugins/a/more/lists.rs", all), "of no module");
        assert!(is_fine(manifest, "plugins/a/src/lib.rs", all));
        assert!(!is_fine("[lib]\ntest = false\n", "plugins/a/src/lib.rs", all), "of no library");
    }
}
