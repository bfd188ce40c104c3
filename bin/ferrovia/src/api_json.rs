//! `ferrovia --api-json FOLDER`: the descriptions of all messages of the binary API, one
//! `*.api.json` for each module, in `core/` and `plugins/` below the folder.

use std::fs;
use std::path::Path;

use control::api::files;
use control::cli::io_text;
use control::config::Config;
use control::log::Log;

use crate::assemble;

/// Registers all features, as for a start without configuration, and writes what they declare.
pub fn write(folder: &Path) -> Result<(), String> {
    let (parts, _) = assemble::without_threads(&Config::default(), &Log::new(), true)?;
    for file in files(&parts.api) {
        let path = folder.join(&file.path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, file.text()));
        written.map_err(|e| format!("cannot write {}: {}", path.display(), io_text(&e)))?;
    }
    Ok(())
}
