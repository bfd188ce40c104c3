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
use net::{Feature, InterfaceIndex, Router};

use crate::built_in;
use crate::declare::Declared;
use crate::host::{self, Configured, Observer, Pending, Table};
use crate::object::Object;
use crate::stamp::{self, Stamp};

/// Version of the router that a plugin may require.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The reason why a plugin is not loaded or unloaded, in words.
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
    /// Built-in features, loaded or not.
    pub features: Vec<&'static Feature>,
    /// Names of those that came since the start, in this order.
    pub(crate) came: Vec<&'static str>,
    /// Names of those that went since the start, in this order.
    pub(crate) gone: Vec<&'static str>,
    /// Folders in which names without a path are looked for.
    pub folders: Vec<PathBuf>,
    /// Plugins that may be of another version of the router, by name.
    pub unchecked: Vec<String>,
}

/// A loaded plugin.
pub(crate) struct Plugin {
    pub stamp: Stamp,
    pub file: PathBuf,
    pub owner: Owner,
    pub observers: Vec<Observer>,
    pub configured: Vec<Configured>,
    /// Interfaces that it has made.
    pub interfaces: Vec<InterfaceIndex>,
    pub counters: Vec<Counted>,
    pub timers: HashMap<u32, (Timer, Pending)>,
    pub next_timer: u32,
    object: Object,
    /// Functions that it was given; it keeps a pointer to them.
    table: Box<Table>,
}

/// Counters by interface.
pub(crate) struct Counted {
    pub rows: Rows<Counter>,
    /// Row of each thread.
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
            came: Vec::new(),
            gone: Vec::new(),
            folders: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    pub(crate) fn by_owner(&mut self, owner: Owner) -> Option<&mut Plugin> {
        self.loaded.iter_mut().find(|plugin| plugin.owner == owner)
    }

    /// The file that is meant: a path, or a name in one of the folders.
    fn find(&self, file: &Path) -> PathBuf {
        let is_name = file.components().count() == 1;
        let mut places = self.folders.iter().filter(|_| is_name).map(|folder| folder.join(file));
        places.find(|path| path.exists()).unwrap_or_else(|| file.to_owned())
    }

    /// The reason why a file of this version of the router does not fit.
    fn other_version(&self, stamp: &Stamp) -> Option<String> {
        let Stamp { name, router, .. } = stamp;
        let fits = router.is_empty() || router == VERSION || self.unchecked.contains(name);
        (!fits).then(|| format!("{name} is for version {router}, this is {VERSION}"))
    }
}

/// Whether a plugin may come, as far as its stamp says.
fn check(router: &Router, stamp: &Stamp) -> Result<(), String> {
    let (name, loader) = (&stamp.name, router.own::<Loader>());
    if loader.loaded.iter().any(|plugin| plugin.stamp.name == *name) {
        return Err(format!("a plugin {name} is already loaded"));
    }
    if built_in::is_there(router, name) || built_in::find(router, name).is_some() {
        return Err(format!("{name} is built in"));
    }
    if let Some(why) = loader.other_version(stamp) {
        return Err(why);
    }
    let is_file = |name: &str| {
        let same = |other: &str| other.replace('-', "_") == name.replace('-', "_");
        loader.loaded.iter().any(|plugin| same(&plugin.stamp.name))
    };
    let is_there = |name: &String| built_in::is_there(router, name) || is_file(name);
    match stamp.needs.iter().find(|needed| !is_there(needed)) {
        Some(missing) => Err(format!("{name} requires {missing}, which is not loaded")),
        None => Ok(()),
    }
}

/// Loads a plugin while packets flow, from a file or a built-in one by its name; returns its name.
/// Where it fails nothing has changed.
///
/// # Errors
/// What is wrong with the file, or why the plugin did not start.
pub fn load(router: &mut Router, file: &Path) -> Result<String, Error> {
    if let Some(feature) = file.to_str().and_then(|word| built_in::find(router, word)) {
        return built_in::load(router, &feature).map(|()| feature.name.to_owned());
    }
    if router.is_trial() {
        let name = file.display();
        return Err(Error(format!("{name}: not a built-in plugin, and a trial loads no files")));
    }
    let file = router.own::<Loader>().find(file);
    let of_file = |why: String| Error(format!("{}: {why}", file.display()));
    let stamp = stamp::read(&file).map_err(of_file)?;
    check(router, &stamp).map_err(of_file)?;
    let object = Object::open(&file).map_err(of_file)?;
    let start = object.start().ok_or_else(|| of_file("it cannot be started".to_owned()))?;
    let table = host::table(router.engine.thread_rows() as u32);
    let name = stamp.name.clone();
    let owner = Owner::next();
    let path: *const abi::Host = table.as_ptr();
    let (observers, configured, interfaces, counters, timers) = Default::default();
    let file = file.canonicalize().unwrap_or(file.clone());
    let plugin = Plugin {
        stamp,
        file,
        owner,
        observers,
        configured,
        interfaces,
        counters,
        timers,
        next_timer: 0,
        object,
        table,
    };
    router.own_mut::<Loader>().loaded.push(plugin);
    let entered = owner.enter();
    router.engine.set_owner(owner.0);
    let started = host::start(router, owner, start, path);
    router.engine.set_owner(Owner::CORE.0);
    drop(entered);
    let settled =
        started.and_then(|()| settle(router)).and_then(|()| match open_edge(router, owner) {
            Some(why) => Err(why),
            None => Ok(()),
        });
    if let Err(why) = settled {
        // What it said comes first; that a thread does not answer besides is in the log.
        let removed = remove(router, owner);
        removed.err().into_iter().for_each(|e| router.log.class("plugin", "load").error(e));
        return Err(Error(format!("{name}: {why}")));
    }
    router.log.class("plugin", "load").notice(format_args!("plugin {name} is loaded"));
    show(router, owner);
    Ok(name)
}

/// Lists a plugin in `show plugins`.
fn show(router: &mut Router, owner: Owner) {
    let Some(plugin) = router.own_mut::<Loader>().by_owner(owner) else { return };
    let Stamp { version, about, .. } = plugin.stamp.clone();
    let row = net::engine::Plugin { file: plugin.file.display().to_string(), version, about };
    if let Some(program) = router.state_mut::<Program>() {
        program.plugins.push(row);
    }
}

/// The first edge of a plugin's nodes to a missing node, in words.
fn open_edge(router: &Router, owner: Owner) -> Option<String> {
    let (from, to) = router.engine.open_edge_of(owner.0)?;
    Some(format!("{from} sends packets to {to}, which no feature registers"))
}

/// Puts what was registered to work.
pub(crate) fn settle(router: &mut Router) -> Result<(), String> {
    router.own::<Loader>().cli.check().map_err(|e| e.to_string())?;
    router.engine.lay_out_changed_arcs().map_err(|e| e.to_string())?;
    let clients = router.clients.clone();
    router.own_mut::<Loader>().api.finish(&clients).map_err(|e| e.to_string())?;
    router.publish_counters();
    Ok(())
}

/// Unloads a plugin under traffic: packets it holds are dropped and counted, everything it
/// registered is removed. Returns a remark, if any.
///
/// # Errors
/// No such plugin, one that another one requires, or a thread that does not answer.
pub fn unload(router: &mut Router, name: &str) -> Result<Option<String>, Error> {
    let loader = router.own::<Loader>();
    let plugin = loader.loaded.iter().find(|plugin| plugin.stamp.name == name);
    let Some(plugin) = plugin else { return built_in::unload(router, name).map(|()| None) };
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
    let interfaces = loader.by_owner(owner).map(|plugin| std::mem::take(&mut plugin.interfaces));
    interfaces.into_iter().flatten().for_each(|index| router.remove_interface(index));
    let loader = router.own_mut::<Loader>();
    let at = loader.loaded.iter().position(|plugin| plugin.owner == owner);
    let plugin = at.map(|at| loader.loaded.remove(at));
    let Some(plugin) = plugin else { return Ok(()) };
    for (timer, _) in plugin.timers.values() {
        router.cancel(*timer);
    }
    let gone = router.remove_all_of(owner);
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
    finished.map_err(|e| Error(e.to_string()))
}

/// Whether a file is mapped into this process.
fn is_mapped(file: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let name = file.display().to_string();
    maps.lines().any(|line| line.ends_with(&name))
}

/// Sets the counters of an interface that goes to zero.
pub(crate) fn forget_interface(router: &mut Router, interface: InterfaceIndex) {
    let loaded = &mut router.own_mut::<Loader>().loaded;
    loaded.iter_mut().for_each(|plugin| plugin.interfaces.retain(|own| *own != interface));
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
