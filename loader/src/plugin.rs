//! Loading and unloading, and what each plugin has brought.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use control::api::Api;
use control::cli::Cli;
use control::feature::Owner;
use control::process::Timer;
use ferrovia_sdk::abi;
use infra::counter::{Counter, Rows};
use net::engine::Program;
use net::{InterfaceIndex, Router};

use crate::declare::Declared;
use crate::host::{self, Observer, Pending, Table};
use crate::object::Object;
use crate::stamp::{self, Stamp};

/// What a plugin may require of the router's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a plugin is not loaded or unloaded, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// All loaded plugins, and what loading takes.
pub struct Loader {
    pub(crate) cli: Cli<Router>,
    pub(crate) api: Api<Router>,
    pub(crate) declared: Declared,
    pub(crate) loaded: Vec<Plugin>,
    /// Names of features that are there without a file.
    pub features: Vec<&'static str>,
    /// Folders in which names without a path are looked for.
    pub folders: Vec<PathBuf>,
    /// Plugins that may be of another version of the router, by name.
    pub unchecked: Vec<String>,
    next: u32,
}

/// A loaded plugin.
pub(crate) struct Plugin {
    pub stamp: Stamp,
    pub file: PathBuf,
    pub owner: Owner,
    pub observers: Vec<Observer>,
    pub counters: Vec<Counted>,
    pub timers: HashMap<u32, (Timer, Pending)>,
    pub next_timer: u32,
    object: Object,
    /// What it was given; it keeps a pointer to it.
    table: Box<Table>,
}

/// Counters by interface.
pub(crate) struct Counted {
    pub name: String,
    pub rows: Rows<Counter>,
    /// Where the row of each thread is.
    pub _pointers: Box<[*mut u64]>,
}

impl Loader {
    pub(crate) fn new(cli: Cli<Router>, api: Api<Router>) -> Self {
        Self {
            cli,
            api,
            declared: Declared::default(),
            loaded: Vec::new(),
            features: Vec::new(),
            folders: Vec::new(),
            unchecked: Vec::new(),
            next: 1,
        }
    }

    pub(crate) fn by_owner(&mut self, owner: Owner) -> Option<&mut Plugin> {
        self.loaded.iter_mut().find(|plugin| plugin.owner == owner)
    }

    fn set_owner(&mut self, owner: Owner) {
        self.cli.set_owner(owner);
        self.api.set_owner(owner);
    }

    /// The file that is meant: a path, or a name in one of the folders.
    fn find(&self, file: &Path) -> PathBuf {
        let is_name = file.components().count() == 1;
        let mut places = self.folders.iter().filter(|_| is_name).map(|folder| folder.join(file));
        places.find(|path| path.exists()).unwrap_or_else(|| file.to_owned())
    }

    /// Whether a plugin may come, as far as its stamp says.
    fn check(&self, stamp: &Stamp) -> Result<(), String> {
        let Stamp { name, router, .. } = stamp;
        if self.loaded.iter().any(|plugin| plugin.stamp.name == *name) {
            return Err(format!("a plugin {name} is loaded"));
        }
        if self.has(name) {
            return Err(format!("{name} is built in"));
        }
        if !router.is_empty() && router != VERSION && !self.unchecked.contains(name) {
            return Err(format!("{name} is for version {router}, this is {VERSION}"));
        }
        match stamp.needs.iter().find(|needed| !self.has(needed)) {
            Some(missing) => Err(format!("{name} requires {missing}, which is not there")),
            None => Ok(()),
        }
    }

    /// Whether there is a feature of this name, in a file or without.
    fn has(&self, name: &str) -> bool {
        let same = |other: &str| other.replace('-', "_") == name.replace('-', "_");
        self.features.iter().any(|feature| same(feature))
            || self.loaded.iter().any(|plugin| same(&plugin.stamp.name))
    }
}

/// Loads a plugin while packets flow; returns its name. Where it fails nothing has changed.
///
/// # Errors
/// What is wrong with the file, or why the plugin did not start.
pub fn load(router: &mut Router, file: &Path) -> Result<String, Error> {
    let file = router.own::<Loader>().find(file);
    let of_file = |why: String| Error(format!("{}: {why}", file.display()));
    let stamp = stamp::read(&file).map_err(of_file)?;
    router.own::<Loader>().check(&stamp).map_err(of_file)?;
    let object = Object::open(&file).map_err(of_file)?;
    let start = object.start().ok_or_else(|| of_file("it cannot be started".to_owned()))?;
    let table = host::table(router.engine.thread_rows() as u32);
    let name = stamp.name.clone();
    let loader = router.own_mut::<Loader>();
    let owner = Owner(loader.next);
    loader.next += 1;
    loader.set_owner(owner);
    let path: *const abi::Host = table.as_ptr();
    let (observers, counters, timers) = Default::default();
    let file = file.canonicalize().unwrap_or(file.clone());
    let plugin =
        Plugin { stamp, file, owner, observers, counters, timers, next_timer: 0, object, table };
    loader.loaded.push(plugin);
    router.engine.set_owner(owner.0);
    let started = host::start(router, owner, start, path);
    router.engine.set_owner(0);
    router.own_mut::<Loader>().set_owner(Owner::CORE);
    if let Err(why) = started.and_then(|()| settle(router)) {
        // What it said comes first; that a thread does not answer besides is in the log.
        let removed = remove(router, owner);
        removed.err().into_iter().for_each(|e| router.log.class("plugin", "load").error(e));
        return Err(Error(format!("{name}: {why}")));
    }
    router.log.class("plugin", "load").notice(format_args!("plugin {name} is loaded"));
    show(router, owner);
    Ok(name)
}

/// Has `show plugins` list a plugin.
fn show(router: &mut Router, owner: Owner) {
    let Some(plugin) = router.own_mut::<Loader>().by_owner(owner) else { return };
    let Stamp { version, about, .. } = plugin.stamp.clone();
    let row = net::engine::Plugin { file: plugin.file.display().to_string(), version, about };
    if let Some(program) = router.state_mut::<Program>() {
        program.plugins.push(row);
    }
}

/// Puts what was registered to work.
fn settle(router: &mut Router) -> Result<(), String> {
    router.own::<Loader>().cli.check().map_err(|e| e.to_string())?;
    router.engine.lay_out_changed_arcs().map_err(|e| e.to_string())?;
    let clients = router.clients.clone();
    router.own_mut::<Loader>().api.finish(&clients).map_err(|e| e.to_string())?;
    router.publish_counters();
    Ok(())
}

/// Unloads a plugin while packets flow: what it holds is dropped and counted, all it brought is
/// gone. Returns what there is to say besides.
///
/// # Errors
/// No such plugin, one that another one requires, or a thread that does not answer.
pub fn unload(router: &mut Router, name: &str) -> Result<Option<String>, Error> {
    let loader = router.own::<Loader>();
    let plugin = loader.loaded.iter().find(|plugin| plugin.stamp.name == name);
    let Some(plugin) = plugin else {
        let built_in = if loader.has(name) { " is built in: it cannot be unloaded" } else { "" };
        let unknown = if built_in.is_empty() { " is not loaded" } else { built_in };
        return Err(Error(format!("{name}{unknown}")));
    };
    let needs = |plugin: &&Plugin| plugin.stamp.needs.iter().any(|needed| needed == name);
    if let Some(other) = loader.loaded.iter().find(needs) {
        return Err(Error(format!("{} requires {name}: unload it first", other.stamp.name)));
    }
    let (owner, file) = (plugin.owner, plugin.file.clone());
    if let Some(stop) = plugin.object.stop() {
        host::stop(router, owner, stop);
    }
    remove(router, owner)?;
    router.log.class("plugin", "load").notice(format_args!("plugin {name} is unloaded"));
    let stays = is_mapped(&file).then(|| format!("{}: it stays in memory", file.display()));
    Ok(stays)
}

/// Takes away all that a plugin has brought, and then itself.
fn remove(router: &mut Router, owner: Owner) -> Result<(), Error> {
    let clients = router.clients.clone();
    let loader = router.own_mut::<Loader>();
    loader.cli.remove_all_of(owner);
    loader.api.remove_all_of(owner);
    let finished = loader.api.finish(&clients);
    let at = loader.loaded.iter().position(|plugin| plugin.owner == owner);
    let plugin = at.map(|at| loader.loaded.remove(at));
    let Some(plugin) = plugin else { return Ok(()) };
    for (timer, _) in plugin.timers.values() {
        router.cancel(*timer);
    }
    let gone = router.engine.remove_all_of(owner.0);
    router.publish_counters();
    let failed = plugin.counters.iter().filter_map(|c| router.stats.remove(&c.name).err()).last();
    if let Err(why) = gone {
        // A thread may still be in its code.
        std::mem::forget(plugin);
        return Err(Error(format!("{why}: its code stays in memory")));
    }
    let Plugin { object, table, counters, file, .. } = plugin;
    let file = file.display().to_string();
    if let Some(program) = router.state_mut::<Program>() {
        program.plugins.retain(|row| row.file != file);
    }
    object.close();
    drop((table, counters));
    finished.map_err(|e| Error(e.to_string()))?;
    failed.map_or(Ok(()), |e| Err(Error(e.to_string())))
}

/// Whether a file is mapped into this process.
fn is_mapped(file: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let name = file.display().to_string();
    maps.lines().any(|line| line.ends_with(&name))
}

/// Sets the counters of an interface that goes to zero.
pub(crate) fn forget_interface(router: &mut Router, interface: InterfaceIndex) {
    let all = router.own::<Loader>().loaded.iter().flat_map(|plugin| &plugin.counters);
    let rows: Vec<_> = all.map(|counted| counted.rows.clone()).collect();
    let at = interface.0 as usize;
    if !rows.is_empty() {
        // A thread that does not answer keeps its values.
        let _ = router
            .engine
            .on_threads(move |thread| rows.iter().for_each(|r| r.zero(thread, at..at + 1)));
    }
}
