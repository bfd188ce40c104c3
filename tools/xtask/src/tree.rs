//! The files of the workspace, read once.

use std::fs;
use std::path::Path;

use crate::source::Source;

/// A text file that is not Rust source.
pub struct File {
    /// Path from the root of the workspace, with `/`.
    pub path: String,
    pub text: String,
}

/// Everything that is checked.
#[derive(Default)]
pub struct Tree {
    /// All text files, Rust sources among them.
    pub files: Vec<File>,
    /// The Rust sources.
    pub sources: Vec<Source>,
}

impl Tree {
    /// Reads all text below `root`, without hidden folders other than `.cargo` and `.ci`, and
    /// without build output.
    pub fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.read_folder(root, "");
        tree
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add((*path).to_owned(), (*text).to_owned());
        }
        tree
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_hidden = name.starts_with('.') && ![".cargo", ".ci"].contains(&name.as_str());
            let outputs = ["target", "proptest-regressions", "node_modules", "dist"];
            let is_output = outputs.contains(&name.as_str());
            if is_hidden || is_output || name == "Cargo.lock" {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.read_folder(&entry.path(), &format!("{path}/"));
            } else if let Ok(text) = fs::read_to_string(entry.path()) {
                self.add(path, text);
            }
        }
    }

    fn add(&mut self, path: String, text: String) {
        if path.ends_with(".rs") {
            self.sources.push(Source::new(path.clone(), text.clone()));
        }
        self.files.push(File { path, text });
    }

    /// The manifests of our crates, with the folder of each.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().filter_map(|file| Some((file.path.strip_suffix("/Cargo.toml")?, file)))
    }

    /// Whether there is a file at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }
}
