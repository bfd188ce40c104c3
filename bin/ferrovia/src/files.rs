//! Plugins in files that the configuration names: those in the folders of `plugins { path … }`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use control::config::{Plugins, Switch};
use loader::Loader;
use net::Router;
use net::health::Severity;

/// Tells the loader where plugins are, and which are built in.
pub fn prepare(config: &Plugins, router: &mut Router) {
    if let Some(loader) = router.state_mut::<Loader>() {
        loader.features = plugins::features().collect();
        // Scripts for the original put all folders into one word.
        let folders = config.paths.iter().flat_map(|paths| paths.split(':'));
        loader.folders = folders.map(PathBuf::from).collect();
        loader.unchecked.clone_from(&config.unchecked);
    }
}

/// Loads what is in the folders and not switched off. What cannot be loaded is left out, with the
/// reason in the log, and so are names of plugins that are neither in the folders nor built in.
pub fn load(config: &Plugins, router: &mut Router) {
    let Some(loader) = router.state::<Loader>() else { return };
    let found = found(&loader.folders);
    let log = router.log.class("plugin", "load");
    for name in unknown(config, found.keys()) {
        let text = format!("no plugin {name}: its settings are ignored");
        log.warn(format_args!("plugins: {text}"));
        // Without a plugin that is not wanted nothing is missing.
        let is_wanted = config.switch(&name) != Some(Switch::Disable);
        let severity = if is_wanted { Severity::Warning } else { Severity::Note };
        router.note_start(severity, "plugins", text);
    }
    let is_on = |name: &str| config.switch(name) != Some(Switch::Disable);
    let mut waiting: Vec<_> = found.into_values().filter(|(name, _)| is_on(name)).collect();
    // One may require another: as long as some come, the others are tried again.
    loop {
        let (before, mut refused) = (waiting.len(), Vec::new());
        for (name, path) in waiting {
            if let Err(why) = loader::load(router, &path) {
                refused.push(((name, path), why));
            }
        }
        if refused.len() == before || refused.is_empty() {
            for ((name, _), why) in refused {
                log.error(&why);
                router.note_start(Severity::Error, format_args!("plugin {name}"), why);
            }
            return;
        }
        waiting = refused.into_iter().map(|(file, _)| file).collect();
    }
}

/// Plugins in files, by name; the first folder that has a file of a name counts.
fn found(folders: &[PathBuf]) -> BTreeMap<String, (String, PathBuf)> {
    let files = folders.iter().rev().flat_map(|folder| objects(folder));
    files.map(|(name, path)| (name.clone(), (name, path))).collect()
}

/// Names in the configuration that are neither those of files nor built in.
fn unknown<'a>(config: &Plugins, files: impl Iterator<Item = &'a String>) -> Vec<String> {
    let built_in = plugins::features().map(|feature| feature.name.to_owned());
    let known: Vec<_> = built_in.chain(files.cloned()).collect();
    config.unknown(&known).into_iter().map(str::to_owned).collect()
}

/// Warnings of a check: names of unknown plugins.
pub fn check(config: &Plugins, router: &Router) -> Vec<String> {
    let folders = router.state::<Loader>().map(|loader| loader.folders.clone());
    let found = found(&folders.unwrap_or_default());
    let text = |name| format!("plugins: no plugin {name}: its settings are ignored");
    unknown(config, found.keys()).into_iter().map(text).collect()
}

/// The shared objects in a folder and the names by which the configuration knows them.
fn objects(folder: &Path) -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_object = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "so");
    let name = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    files.filter(is_object).filter_map(name).collect()
}
