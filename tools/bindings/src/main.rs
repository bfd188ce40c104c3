//! `bindings LANGUAGE DIR [DESCRIPTIONS]`: writes a language's messages into a folder.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use bindings::{DESCRIPTIONS, LANGUAGES, Model};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let names = LANGUAGES.map(|language| language.name).join(" | ");
    let (name, folder, from) = match arguments.as_slice() {
        [name, folder] => (name, folder, DESCRIPTIONS),
        [name, folder, from] => (name, folder, from.as_str()),
        _ => {
            eprintln!("usage: bindings {names} DIR [DESCRIPTIONS]");
            return ExitCode::from(2);
        }
    };
    let Some(language) = LANGUAGES.iter().find(|language| language.name == name) else {
        eprintln!("bindings: no language {name}: {names}");
        return ExitCode::from(2);
    };
    let written = Model::read(from.as_ref()).and_then(|model| {
        let path = PathBuf::from(folder).join(language.file);
        std::fs::write(&path, (language.write)(&model))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bindings: {why}");
            ExitCode::FAILURE
        }
    }
}
