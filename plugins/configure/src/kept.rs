//! State that outlasts the process: revisions, each in a file, and the commit that waits to be
//! confirmed.
//!
//! A file begins with a comment, `#` and JSON about the revision; what follows are its commands, so
//! that it can be read like any file of commands. Files are written and removed by a thread, in the
//! order in which that was asked for, and each atomically.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use control::wall;
use net::Router;
use serde::{Deserialize, Serialize};

use crate::history::Revision;
use crate::own_mut;
use crate::save::write_atomically;

/// Name of the file of a commit that waits to be confirmed.
const UNCONFIRMED: &str = "unconfirmed";
/// Longest file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// A file that is to be written, or removed.
#[derive(Debug)]
pub enum Change {
    Write(PathBuf, String),
    Remove(PathBuf),
}

impl Change {
    fn path(&self) -> &Path {
        match self {
            Self::Write(path, _) | Self::Remove(path) => path,
        }
    }
}

/// Changes that could not be made, and why: the first reason.
#[derive(Debug)]
pub struct Failed {
    pub why: String,
    pub changes: Vec<Change>,
}

impl Failed {
    /// The thread for them failed.
    pub fn without_changes(why: &impl ToString) -> Self {
        Self { why: why.to_string(), changes: Vec::new() }
    }
}

/// The folder of the files, if there is one, and what is to be done there.
#[derive(Debug, Default)]
pub struct Kept {
    folder: Option<PathBuf>,
    changes: Vec<Change>,
}

/// A commit that waits to be confirmed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// Seconds since 1970-01-01 UTC at which it is undone.
    pub due: f64,
    /// Seconds that it waited for confirmation at most.
    pub seconds: f64,
    /// The configuration that comes back.
    pub base: Revision,
    /// The name of the change, if only a commit with it confirms it.
    #[serde(default)]
    pub id: Option<String>,
}

impl Unconfirmed {
    /// Seconds that are left. The machine's clock may have been set meanwhile.
    pub fn left(&self) -> f64 {
        (self.due - wall::now().as_secs_f64()).clamp(0.0, self.seconds)
    }
}

impl Kept {
    /// Revisions in a folder, the newest at the front. Other files in it are left alone.
    ///
    /// # Errors
    /// The folder cannot be read; unreadable files are reported one by one.
    pub fn read(
        folder: &Path,
        mut problem: impl FnMut(String),
    ) -> (Self, VecDeque<Revision>, Option<Unconfirmed>) {
        let kept = Self { folder: Some(folder.to_owned()), changes: Vec::new() };
        let mut files: Vec<u64> = match fs::read_dir(folder) {
            Ok(entries) => {
                let names = entries.flatten().map(|entry| entry.file_name());
                names.filter_map(|name| name.to_str()?.parse().ok()).collect()
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => {
                problem(format!("{}: {e}", folder.display()));
                Vec::new()
            }
        };
        files.sort_unstable_by(|a, b| b.cmp(a));
        let mut read = |path: PathBuf| {
            parts(&path).map_err(|e| problem(format!("{}: {e}", path.display()))).ok()
        };
        let mut revisions = VecDeque::new();
        for file in files {
            let Some((header, text)) = read(path(folder, file)) else { continue };
            let Ok(revision) = serde_json::from_str::<Revision>(&header) else { continue };
            revisions.push_back(Revision { text: text.into(), file, is_earlier: true, ..revision });
        }
        let unconfirmed = folder.join(UNCONFIRMED);
        let unconfirmed = unconfirmed.exists().then(|| read(unconfirmed)).flatten();
        let unconfirmed = unconfirmed.and_then(|(header, text)| {
            let mut found: Unconfirmed = serde_json::from_str(&header).ok()?;
            (found.base.text, found.base.is_earlier) = (text.into(), true);
            Some(found)
        });
        (kept, revisions, unconfirmed)
    }

    /// Writes a revision.
    pub fn write(&mut self, revision: &Revision) {
        if let Some(folder) = &self.folder {
            let contents = contents(revision, &revision.text);
            self.changes.push(Change::Write(path(folder, revision.file), contents));
        }
    }

    /// Removes a revision.
    pub fn remove(&mut self, revision: &Revision) {
        if let Some(folder) = &self.folder {
            self.changes.push(Change::Remove(path(folder, revision.file)));
        }
    }

    /// Records a commit that waits for confirmation.
    pub fn await_confirmation(&mut self, seconds: f64, base: &Revision, id: Option<&str>) {
        if let Some(folder) = &self.folder {
            let due = wall::now().as_secs_f64() + seconds;
            let unconfirmed =
                Unconfirmed { due, seconds, base: base.clone(), id: id.map(str::to_owned) };
            let contents = contents(&unconfirmed, &base.text);
            self.changes.push(Change::Write(folder.join(UNCONFIRMED), contents));
        }
    }

    /// Deletes this record.
    pub fn confirm(&mut self) {
        if let Some(folder) = &self.folder {
            self.changes.push(Change::Remove(folder.join(UNCONFIRMED)));
        }
    }

    /// Writes another file in turn.
    pub fn write_other(&mut self, path: PathBuf, contents: String) {
        self.changes.push(Change::Write(path, contents));
    }

    /// Retries failed changes later, except if a newer one concerns the same file.
    pub fn put_back(&mut self, mut failed: Vec<Change>) {
        failed.retain(|old| !self.changes.iter().any(|new| new.path() == old.path()));
        failed.append(&mut self.changes);
        self.changes = failed;
    }

    /// Changes to be made; `None` if there are none.
    pub fn changes(&mut self) -> Option<Vec<Change>> {
        let changes = std::mem::take(&mut self.changes);
        (!changes.is_empty()).then_some(changes)
    }
}

/// Logs that changes failed, and keeps them for the next time; returns the text.
pub fn failed(router: &mut Router, failed: Failed) -> String {
    own_mut(router).history.kept.put_back(failed.changes);
    let text = format!("the history is kept in memory only: {}", failed.why);
    router.log.class("configure", "history").warn(&text);
    text
}

/// Applies changes, on a thread that may wait.
///
/// # Errors
/// Changes that could not be made.
pub fn carry_out(changes: Vec<Change>) -> Result<(), Failed> {
    let mut failed = Failed { why: String::new(), changes: Vec::new() };
    for change in changes {
        let path = change.path();
        let done = match &change {
            Change::Write(_, contents) => {
                let folder = path.parent().unwrap_or(Path::new("."));
                let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
                made.and_then(|()| write_atomically(path, contents.as_bytes()))
            }
            Change::Remove(_) => match fs::remove_file(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        if let Err(e) = done {
            if failed.changes.is_empty() {
                failed.why = format!("{}: {}", path.display(), control::cli::io_text(&e));
            }
            failed.changes.push(change);
        }
    }
    if failed.changes.is_empty() { Ok(()) } else { Err(failed) }
}

fn path(folder: &Path, file: u64) -> PathBuf {
    folder.join(format!("{file:08}"))
}

fn contents(header: &impl Serialize, text: &str) -> String {
    let header = serde_json::to_string(header).expect("it is made of numbers and texts");
    format!("# {header}\n{text}")
}

/// The JSON and the commands in a file.
fn parts(path: &Path) -> io::Result<(String, String)> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(io::Error::other("no file of at most 1 GiB"));
    }
    let text = fs::read_to_string(path)?;
    let header = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let header = header.filter(|header| header.starts_with('{'));
    let header = header.ok_or_else(|| io::Error::other("it does not begin as a revision"))?;
    let rest = text.get(header.len() + 3..).unwrap_or_default();
    Ok((header.to_owned(), rest.to_owned()))
}
