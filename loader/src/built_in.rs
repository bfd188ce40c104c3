//! Built-in plugins: they come and go by name while packets flow.
//!
//! Everything a feature registers has an owner, and is removed by owner. A feature in use stays:
//! its settings, and objects that packets may need, have to be deleted first.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use control::feature::{Owner, Refused};
use net::engine::{Plugin, Program};
use net::{Feature, Origin, Parts, Router};

use crate::plugin::{Error, Loader, settle};

/// Whether a feature is meant by a word: its name, or that of its file in the original.
fn is_called(feature: &Feature, word: &str) -> bool {
    let word = word.replace('-', "_");
    word == feature.name.replace('-', "_") || word == feature.file()
}

/// The built-in plugin of a name, whether or not it is loaded.
pub fn find(router: &Router, word: &str) -> Option<Feature> {
    let mut all = router.own::<Loader>().features.iter();
    all.find(|feature| is_called(feature, word)).map(|feature| **feature)
}

/// Whether a built-in feature of this name is there.
pub fn is_there(router: &Router, word: &str) -> bool {
    router.features.iter().any(|(_, feature)| is_called(feature, word))
}

/// Names of built-in plugins that are not loaded.
pub fn absent(router: &Router) -> impl Iterator<Item = &'static str> {
    let all = router.own::<Loader>().features.iter();
    all.filter(|feature| !is_there(router, feature.name)).map(|feature| feature.name)
}

/// Names of built-in plugins that are loaded.
pub fn present(router: &Router) -> impl Iterator<Item = &'static str> {
    let all = router.features.iter().filter(|(owner, feature)| may_go(*owner, feature));
    all.map(|(_, feature)| feature.name)
}

fn may_go(owner: Owner, feature: &Feature) -> bool {
    owner != Owner::CORE && feature.name != crate::FEATURE.name
}

/// Loads a built-in plugin. Where that fails nothing has changed.
///
/// # Errors
/// It is loaded, a required feature is missing, or its start fails.
pub fn load(router: &mut Router, feature: &Feature) -> Result<(), Error> {
    let name = feature.name;
    if is_there(router, name) {
        return Err(Error(format!("{name} is already loaded")));
    }
    let missing = feature.requires.iter().find(|needed| !is_there(router, needed));
    if let Some(missing) = missing {
        return Err(Error(format!("{name} requires {missing}, which is not loaded")));
    }
    let loader = router.own::<Loader>();
    let (cli, api) = (loader.cli.clone(), loader.api.clone());
    let add = || Parts { router: &mut *router, cli, api }.add(feature);
    let added = catch_unwind(AssertUnwindSafe(add));
    let added = added.unwrap_or_else(|_| Err(Refused("its start panicked".to_owned())));
    router.engine.set_owner(Owner::CORE.0);
    let owner = router.features.last().map_or(Owner::CORE, |(owner, _)| *owner);
    if let Err(why) = added.map_err(|e| e.to_string()).and_then(|()| settle(router)) {
        remove(router, owner)?;
        return Err(Error(format!("{name}: {why}")));
    }
    router.introduce(owner);
    let loader = router.own_mut::<Loader>();
    note(&mut loader.came, &mut loader.gone, name);
    if feature.origin != Origin::Core
        && let Some(program) = router.state_mut::<Program>()
    {
        program.plugins.push(Plugin::built_in(feature.file(), feature.about));
    }
    router.log.class("plugin", "load").notice(format_args!("plugin {name} is loaded"));
    Ok(())
}

/// Unloads a built-in plugin; packets do not meet it any more.
///
/// # Errors
/// Not loaded, part of the router, required or in use; nothing has changed then. Or a thread does
/// not answer.
pub fn unload(router: &mut Router, word: &str) -> Result<(), Error> {
    let found = router.features.iter().find(|(_, feature)| is_called(feature, word));
    let Some((owner, feature)) = found.copied() else {
        return Err(Error(format!("{word} is not loaded")));
    };
    let name = feature.name;
    if !may_go(owner, &feature) {
        return Err(Error(format!("{name} is part of the router: it cannot be unloaded")));
    }
    let is_needed = |other: &&str| other.replace('-', "_") == name.replace('-', "_");
    let needs = |f: &&(Owner, Feature)| f.1.requires.iter().any(is_needed);
    let built_in = router.features.iter().find(needs).map(|(_, other)| other.name.to_owned());
    let files = &router.own::<Loader>().loaded;
    let file =
        files.iter().find(|p| p.stamp.needs.iter().any(|needed| is_needed(&needed.as_str())));
    if let Some(other) = built_in.or(file.map(|plugin| plugin.stamp.name.clone())) {
        return Err(Error(format!("{other} requires {name}: unload it first")));
    }
    if let Some(why) = in_use(router, owner, &feature) {
        return Err(Error(format!("{name} is in use: {why}")));
    }
    remove(router, owner)?;
    let loader = router.own_mut::<Loader>();
    note(&mut loader.gone, &mut loader.came, name);
    if let Some(program) = router.state_mut::<Program>() {
        program.plugins.retain(|row| row.file != feature.file());
    }
    router.log.class("plugin", "load").notice(format_args!("plugin {name} is unloaded"));
    Ok(())
}

/// Notes a change in one list, or takes back the opposite one from the other.
fn note(list: &mut Vec<&'static str>, opposite: &mut Vec<&'static str>, name: &'static str) {
    match opposite.iter().position(|other| *other == name) {
        Some(at) => drop(opposite.remove(at)),
        None => list.push(name),
    }
}

/// The reason why a feature cannot go now.
fn in_use(router: &Router, owner: Owner, feature: &Feature) -> Option<String> {
    let told = feature.configuration.first(router);
    let told = told.map(|line| format!("it is configured: `{line}'"));
    let used = || router.uses.of(owner).find_map(|reason| reason(router));
    let path = || router.path_to_objects_of(owner).map(|to| format!("routes lead to {to}"));
    let guest = || {
        let guest = router.engine.guest_on_arcs_of(owner.0)?;
        Some(format!("feature {guest} is on one of its arcs"))
    };
    told.or_else(used).or_else(path).or_else(guest)
}

/// Takes away all that a feature has brought.
fn remove(router: &mut Router, owner: Owner) -> Result<(), Error> {
    let clients = router.clients.clone();
    let loader = router.own_mut::<Loader>();
    loader.cli.remove_all_of(owner);
    loader.api.remove_all_of(owner);
    let finished = loader.api.finish(&clients);
    router.remove_all_of(owner).map_err(|why| Error(why.to_string()))?;
    finished.map_err(|e| Error(e.to_string()))
}
