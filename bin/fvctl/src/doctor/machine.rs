//! Properties of a machine, from the kernel's files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A machine whose files are below a folder.
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        Self::at("/")
    }
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
    /// A path of it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
    /// The text of a file, without blanks around it; `None` if it cannot be read.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_owned())
    }
    /// The file has this word, where the kernel marks the chosen one: `always [madvise] never`.
    pub fn chosen(&self, path: &str) -> Option<String> {
        let text = self.read(path)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split(']').next()?.to_owned())
    }
    /// CPUs of a list such as `0-3,8`.
    pub fn cpus(&self, path: &str) -> BTreeSet<u32> {
        self.read(path).map(|text| numbers(&text)).unwrap_or_default()
    }
    /// Names in a folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
    /// The name of what a link leads to.
    pub fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Path::new(&target).file_name().map(|name| name.to_string_lossy().into_owned())
    }
}

/// Numbers of a list such as `0-3,8`.
pub fn numbers(list: &str) -> BTreeSet<u32> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}
