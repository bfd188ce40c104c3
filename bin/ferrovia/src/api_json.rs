//! `api-json DIR`: writes the descriptions of all messages of the binary API, one `*.api.json` for
//! each module, in `core/` and `plugins/` below a folder.
#![forbid(unsafe_code)]

mod features;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use control::api::files;
use control::config::Plugins;
use control::log::Log;
use graph::Settings;
use net::{Assembly, Router};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        eprintln!("usage: api-json DIR");
        return ExitCode::FAILURE;
    };
    match write(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("api-json: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Registers all features as the daemon does and writes what they declare.
fn write(folder: &Path) -> Result<(), String> {
    let settings = Settings { buffers: 1024, ..Settings::default() };
    let router = Router::new(settings, Log::new()).map_err(|e| e.to_string())?;
    let mut parts = Assembly::new(router);
    for feature in features::enabled(&Plugins::default())? {
        parts.add(feature).map_err(|e| format!("feature {}: {e}", feature.name))?;
    }
    parts.api.finish(&parts.router.clients).map_err(|e| e.to_string())?;
    for file in files(&parts.api) {
        let path = folder.join(&file.path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, file.text()));
        written.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}
