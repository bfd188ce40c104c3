//! Plugins in files that the configuration names: those in the folders of `plugins { path … }`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use control::config::{Plugins, Switch};
use loader::Loader;
use net::Router;

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
    let mut found: BTreeMap<_, (String, PathBuf)> = BTreeMap::new();
    for folder in loader.folders.iter().rev() {
        // The first folder that has a file of this name counts.
        found.extend(objects(folder).into_iter().map(|(name, path)| (name.clone(), (name, path))));
    }
    let log = router.log.class("plugin", "load");
    let built_in = plugins::features().map(|feature| feature.name.to_owned());
    let known: Vec<_> = built_in.chain(found.keys().cloned()).collect();
    for name in config.unknown(&known) {
        log.warn(format_args!("plugins: there is no plugin {name}: what is said of it is ignored"));
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
            refused.iter().for_each(|(_, why)| log.error(why));
            return;
        }
        waiting = refused.into_iter().map(|(file, _)| file).collect();
    }
}

/// The shared objects in a folder and the names by which the configuration knows them.
fn objects(folder: &Path) -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_object = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "so");
    let name = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    files.filter(is_object).filter_map(name).collect()
}
