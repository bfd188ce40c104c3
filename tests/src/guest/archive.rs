//! Archives that a kernel unpacks when it starts: cpio, in its form `newc`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// An archive that is being written.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    count: usize,
}

impl Archive {
    /// Adds a file, and the folders it is in.
    pub fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.add_folder(folder);
        }
        self.entry(name, 0o100_000 | mode, content);
    }

    /// Adds a folder, and those it is in.
    pub fn add_folder(&mut self, name: &str) {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.add_folder(folder);
        }
        if self.folders.insert(name.to_owned()) {
            self.entry(name, 0o040_755, &[]);
        }
    }

    /// Adds a program of this machine as `/bin/NAME`, and the libraries it is linked to.
    pub fn add_program(&mut self, name: &str, path: &Path) -> Result<(), String> {
        let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        self.add(&format!("bin/{name}"), 0o755, &read(path)?);
        let output = Command::new("ldd").arg(path).output().map_err(|e| format!("ldd: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for library in text.split_whitespace().filter(|word| word.starts_with('/')) {
            let name = library.trim_start_matches('/').trim_end_matches(':');
            if self.folders.insert(format!("file {name}")) {
                self.add(name, 0o755, &read(Path::new(library))?);
            }
        }
        Ok(())
    }

    /// The archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.count += 1;
        let links = 1;
        let name_len = name.len() + 1;
        // Number, mode, owner, group, links, time, length, device twice, length of the name, sum.
        let len = content.len();
        let mode = mode as usize;
        let fields = [self.count, mode, 0, 0, links, 0, len, 0, 0, 0, 0, name_len, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|n| format!("{n:08x}").into_bytes()));
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
