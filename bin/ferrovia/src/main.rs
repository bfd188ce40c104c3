//! The daemon: reads its configuration, assembles the router and serves it until it is stopped.
//!
//! `main` → [`config`](control::config) → [`layout`] (CPUs) → [`assemble`] (features, graph,
//! threads) → [`serve`] (CLI, processes, signals).
#![forbid(unsafe_code)]

mod api_json;
mod assemble;
mod background;
#[cfg(test)]
mod every_command;
mod features;
mod files;
mod layout;
mod notify;
mod open_files;
mod process;
mod serve;
mod version;
mod workers;

use std::process::ExitCode;

use control::config::{Invocation, Options};
use control::log::Log;

fn main() -> ExitCode {
    let done = match Invocation::parse(std::env::args().skip(1)) {
        Ok(Invocation::Help) => {
            print!("{}", Invocation::HELP);
            Ok(())
        }
        Ok(Invocation::Version) => {
            println!("{}", version::short());
            Ok(())
        }
        Ok(Invocation::Run(options)) => run(&options),
        Ok(Invocation::Check(options)) => check(&options),
        Ok(Invocation::ApiJson(folder)) => api_json::write(&folder),
        Err(why) => Err(why.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("ferrovia: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the configuration and runs its files of commands in a router without threads and devices.
/// It fails where the start would, and touches no file.
fn check(options: &Options) -> Result<(), String> {
    let config = options.load(&[]).map_err(|e| e.to_string())?;
    config.notices.iter().for_each(|notice| eprintln!("ferrovia: {notice}"));
    let unix = &config.unix;
    process::check(&config)?;
    assemble::schedule(&config.cpu)?;
    let (parts, _) = assemble::without_threads(&config, &Log::new(), true)?;
    let unknown = files::check(&config.plugins, &parts.router);
    unknown.iter().for_each(|warning| eprintln!("ferrovia: {warning}"));
    let saved = unix.startup_config();
    let is_loaded = unix.loads_startup_config() && saved.exists();
    let files = is_loaded.then_some(&saved).into_iter().chain(&unix.exec);
    let read = files.map(|file| {
        let text = std::fs::read_to_string(file);
        let name = file.display().to_string();
        text.map(|text| (name.clone(), text)).map_err(|e| format!("cannot read `{name}': {e}"))
    });
    configure::check(&parts.router, &read.collect::<Result<Vec<_>, _>>()?)
}

fn run(options: &Options) -> Result<(), String> {
    let config = options.load(&[]).map_err(|e| e.to_string())?;
    let unix = &config.unix;
    let wants_background = options.config.is_some() && !unix.nodaemon && !unix.interactive;
    let background = match wants_background {
        true => match background::enter()? {
            background::Side::Parent(process) => {
                if let Some(file) = options.config.as_ref().filter(|_| config.file_is_empty) {
                    let file = file.display();
                    let what = format!("process {process} runs in the background without them");
                    eprintln!("ferrovia: `{file}' has no stanzas: {what}");
                }
                return Ok(());
            }
            background::Side::Daemon(ready) => Some(ready),
        },
        false => None,
    };
    process::prepare(unix)?;
    let surroundings = process::Surroundings::make(unix)?;
    let parts = assemble::router(&config)?;
    serve::run(parts, &config, background)?;
    drop(surroundings);
    Ok(())
}
