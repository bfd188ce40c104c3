//! Nothing left over: no marks of unfinished work, no paths of one machine.

use crate::Finding;
use crate::tree::File;

/// This file spells what it looks for in pieces, so as not to find itself.
const LEFT_OVER: [(&str, &str); 3] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X")];
const OWN_PATHS: [(&str, &str); 4] =
    [("/home", "/"), ("/work", "/"), ("/Users", "/"), ("/root", "/")];

pub fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut find = |words: &[(&str, &str)], is_in: &dyn Fn(&str) -> bool, why: &str| {
            for word in words.iter().map(|(a, b)| format!("{a}{b}")).filter(|word| is_in(word)) {
                findings.push(Finding::new(&file.path, number + 1, format!("`{word}`: {why}")));
            }
        };
        let is_word = |word: &str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
        };
        find(&LEFT_OVER, &is_word, "finish it or leave it out");
        find(&OWN_PATHS, &|path| is_path(line, path), "a path of one machine");
    }
    findings
}

/// Whether an absolute path in `line` begins with `start`.
fn is_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-/}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = File { path: "x.md".into(), text: text.into() };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn left_overs_are_found() {
        assert_eq!(lines(&format!("ok\n// {}{}: later\n{}{}S\n", "TO", "DO", "TO", "DO")), [2]);
    }

    #[test]
    fn own_paths_are_found() {
        let path = OWN_PATHS[0].0;
        assert_eq!(lines(&format!("see {path}/x/y\nhttps://example.org{path}/x\n")), [1]);
    }
}
