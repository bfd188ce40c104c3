//! Writing a file so that it has its old or its new contents at any moment.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a file: beside it first, then to the disk, then in its place. Whenever the process or the
/// machine stops, the file has its old or its new contents. A link is followed.
///
/// # Errors
/// The kernel's; the file is as it was then.
pub fn write_atomically(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(".new");
    let beside = folder.join(beside);
    let written = write_beside(&beside, &path, contents).and_then(|()| {
        fs::rename(&beside, &path)?;
        File::open(&folder)?.sync_all()
    });
    if written.is_err() {
        // It may not even be there.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The previous contents replaced by a save.
#[derive(Debug, PartialEq, Eq)]
pub enum Saved {
    /// Nothing, or a file without comments.
    New,
    /// A file with comments, which is there under this name now.
    InPlaceOf(PathBuf),
}

/// Saves a configuration as [`write_atomically`]. A file with comments was written by hand: it is
/// kept as `FILE~`.
///
/// # Errors
/// The kernel's; the file is as it was then.
pub fn save_to(path: &Path, contents: &[u8]) -> io::Result<Saved> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if !has_comments(&path) {
        return write_atomically(&path, contents).map(|()| Saved::New);
    }
    let mut old = path.clone().into_os_string();
    old.push("~");
    let old = PathBuf::from(old);
    match fs::remove_file(&old) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => fs::hard_link(&path, &old)?,
    }
    write_atomically(&path, contents).map(|()| Saved::InPlaceOf(old))
}

/// Whether there is a file of commands with comments. One that cannot be read has none.
fn has_comments(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
    let text = is_file.then(|| fs::read_to_string(path).ok()).flatten().unwrap_or_default();
    let begins = |line: &str, word: &str| line.trim_start().starts_with(word);
    text.lines().any(|line| begins(line, "#") || begins(line, "comment "))
}

/// Writes the new contents to the disk, with the permissions of the file or for its owner only:
/// a configuration may have secrets in it.
fn write_beside(beside: &Path, path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(beside)?;
    if let Ok(old) = fs::metadata(path) {
        if !old.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        file.set_permissions(old.permissions())?;
    }
    file.write_all(contents)?;
    file.sync_all()
}
