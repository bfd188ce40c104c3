//! Names as STYLE.md wants them: no `get_`, no `_t`, nothing named after being useful.

use crate::Finding;
use crate::source::Source;
use crate::tree::Tree;

/// Endings of type names that say nothing.
const VAGUE_TYPES: [&str; 6] = ["Manager", "Handler", "Helper", "Helpers", "Util", "Utils"];
/// Names of folders and modules that say nothing.
const VAGUE_FOLDERS: [&str; 6] = ["util", "utils", "common", "misc", "helper", "helpers"];

pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for keyword in ["fn", "struct", "enum", "union", "trait", "type"] {
        for at in source.words(keyword) {
            let name = name_at(&source.code[at + keyword.len()..]);
            if let Some(message) = judge(keyword, name) {
                findings.push(Finding::new(&source.path, source.line_of(at) + 1, message));
            }
        }
    }
    findings
}

pub fn check_folders(tree: &Tree) -> Vec<Finding> {
    let is_vague = |path: &str| {
        path.split('/').any(|part| VAGUE_FOLDERS.contains(&part.trim_end_matches(".rs")))
    };
    tree.files
        .iter()
        .filter(|file| is_vague(&file.path))
        .map(|file| Finding::new(&file.path, 1, "say what is in it, not that it is of use"))
        .collect()
}

fn name_at(rest: &str) -> &str {
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

fn judge(keyword: &str, name: &str) -> Option<String> {
    if keyword == "fn" {
        return name.starts_with("get_").then(|| format!("`{name}`: no get_ in names"));
    }
    if name.ends_with("_t") {
        return Some(format!("`{name}`: no _t in names"));
    }
    let vague = VAGUE_TYPES.iter().find(|ending| name.ends_with(*ending))?;
    Some(format!("`{name}`: {vague} says nothing; name what it is"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_names_are_found() {
        let text = "fn get_x() {}\nstruct PoolManager;\ntype size_t = u8;\nfn target() {}\n";
        let source = Source::new("a/src/lib.rs".into(), text.into());
        let lines: Vec<_> = check(&source).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }

    #[test]
    fn vague_folders_are_found() {
        let tree =
            Tree::of(&[("a/src/util.rs", ""), ("a/misc/x.txt", ""), ("a/src/common_x.rs", "")]);
        assert_eq!(check_folders(&tree).len(), 2);
    }
}
