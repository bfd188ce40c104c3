//! Chores of the workspace.
//!
//! `cargo xtask tidy` checks the rules of STYLE.md that no compiler checks, `cargo xtask words` its
//! English; `cargo xtask parts` counts what is written by hand. `cargo xtask bless` accepts the
//! present unsafe counts and lowers the limits of `parts`. `cargo xtask closures` checks a release
//! build, `cargo xtask weight` compares its size with a budget. `cargo xtask man DIR` writes the
//! manual pages. It has no dependencies, so that it builds in a second.
#![forbid(unsafe_code)]

mod closures;
mod english;
mod fence;
mod inline;
mod layers;
mod length;
mod man;
mod modules;
mod names;
mod parts;
mod source;
mod tested;
mod tree;
mod weight;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tree::Tree;

/// One thing that is not as STYLE.md wants it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// `line` counts from one.
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

fn main() -> ExitCode {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy(&Tree::read(&root)),
        Some("words") => english::report(&Tree::read(&root)),
        Some("parts") => parts::report(&Tree::read(&root)),
        Some("bless") => bless(&root),
        Some("closures") => closures::check(&program(&root)),
        Some("weight") => weight::check(&program(&root), &root),
        Some("man") if std::env::args().nth(2).is_some() => {
            let folder = std::env::args_os().nth(2).map(PathBuf::from).unwrap_or_default();
            man::write(&root, &folder)
        }
        _ => {
            let chores =
                "tidy | words | parts | bless | closures [FERROVIA] | weight [FERROVIA] | man DIR";
            eprintln!("usage: cargo xtask {chores}");
            ExitCode::from(2)
        }
    }
}

/// The built daemon to look at.
fn program(root: &Path) -> PathBuf {
    let named = std::env::args_os().nth(2).map(PathBuf::from);
    named.unwrap_or_else(|| root.join("target/release/ferrovia"))
}

fn tidy(tree: &Tree) -> ExitCode {
    let findings = check(tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = layers::check(tree);
    findings.extend(fence::check(tree));
    findings.extend(names::check_folders(tree));
    findings.extend(modules::check(&tree.sources));
    findings.extend(tested::check(tree));
    findings.extend(tree.files.iter().flat_map(words::check));
    for source in &tree.sources {
        findings.extend(length::check(source));
        findings.extend(names::check(source));
        findings.extend(inline::check(source));
    }
    findings.sort();
    findings
}

fn bless(root: &Path) -> ExitCode {
    let tree = Tree::read(root);
    let lists = [(fence::COUNTS, fence::counts(&tree)), (parts::ALLOWED, parts::lowered(&tree))];
    for (path, text) in lists {
        if let Err(error) = std::fs::write(root.join(path), text) {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
