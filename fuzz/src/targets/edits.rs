//! Commands that replay tries: those of the files in `fuzz/edits`, a line each.
//!
//! `|` separates the choices for a word, which may be empty, `~` is a blank within one; braces have
//! a value. Lines of plugins are in groups, each with its prerequisites: a line that starts with
//! `=` names the group.

use std::sync::LazyLock;

/// Edits of what every router has, and of tunnels, the classifier, labels and BIER.
pub static OF_CORE: LazyLock<Vec<&str>> =
    LazyLock::new(|| lines(include_str!("../../edits/core.txt")));

/// Edits of plugins, by group.
pub static OF_PLUGINS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let groups = include_str!("../../edits/plugins.txt").split("\n= ");
    // The first line of each is its name.
    groups.map(|group| lines(group).split_off(1)).collect()
});

fn lines(text: &'static str) -> Vec<&'static str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}
