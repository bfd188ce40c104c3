//! A private folder: configurations that clients send, and the file of a capture.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folder, private to the router.
pub struct Folder {
    path: PathBuf,
    count: u64,
}

/// A text in a file, as long as this is there.
pub struct TextFile(PathBuf);

impl Folder {
    /// Makes it, below another.
    pub fn new(below: &Path) -> io::Result<Self> {
        let path = below.join("http");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(Self { path, count: 0 })
    }

    /// Path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A new file with this text.
    pub fn text(&mut self, text: &str) -> io::Result<TextFile> {
        use std::io::Write;
        self.count += 1;
        let path = self.path.join(format!("configuration-{}", self.count));
        let _ = fs::remove_file(&path);
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let made = TextFile(path);
        file.write_all(text.as_bytes())?;
        Ok(made)
    }
}

impl TextFile {
    /// Its path, as a command names it.
    pub fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // The file may have been removed.
        let _ = fs::remove_file(&self.0);
    }
}
