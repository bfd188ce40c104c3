//! Knowledge that outlasts the agent: files that have their old or their new contents.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a file at most.
const MOST: u64 = 256 << 20;

/// A file that holds a value.
pub struct Kept(PathBuf);

impl Kept {
    /// A file in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(folder: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self(folder.join(name)))
    }

    /// The value; `None` if there is no such file, or none that can be read.
    ///
    /// # Errors
    /// The file has something else in it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", self.0.display());
        match fs::metadata(&self.0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed(&e)),
            Ok(about) if about.len() > MOST => return Err(failed(&"is too long")),
            Ok(_) => {}
        }
        let text = fs::read(&self.0).map_err(|e| failed(&e))?;
        serde_json::from_slice(&text).map(Some).map_err(|e| failed(&e))
    }

    /// Writes a value: beside the old one, to the disk, then in its place.
    ///
    /// # Errors
    /// The kernel's; the file is as it was then.
    pub fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let beside = self.0.with_extension("new");
        let text = serde_json::to_vec(value)?;
        if text.len() as u64 > MOST {
            return Err(io::Error::other("it is too long to be read again"));
        }
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.0)?;
        match self.0.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}
