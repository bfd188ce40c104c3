//! A trial: a router without threads and devices that carries out a file first.

use std::collections::HashMap;
use std::convert::Infallible;

use control::cli::{Args, Described, Error, Output, Run, Step};
use control::configuration::{Collection, Lines, Row, Stage, undo};
use control::log::Log;
use graph::{Frame, Node, Settings};
use net::interface::{Kind, NewInterface, Offloads};
use net::{Assembly, Configuration, Router};
use wire::MacAddr;

/// Registers commands that the router has beside those of features.
pub struct Extra(pub fn(&mut Assembly));

/// Features whose interfaces are devices of the host, or programs on it, and what serves clients.
const DEVICES: &[&str] = &[
    "af_packet",
    "af_xdp",
    "dpdk",
    "tap",
    "memif",
    "vhost_user",
    "netmap",
    "pci",
    "linux_cp",
    "linux_nl",
    "http",
];
/// An MTU that no device has, so that each one in the file is a change.
const MTU: u32 = 8999;

/// A command that a trial only notes: its path, and the name of the interface that it makes, in
/// the notation of [`undo`].
const NOTED: &[(&str, &str)] = &[
    ("create host-interface", "host-{name}"),
    ("create interface af_xdp", "{name}|{host-if}/0"),
    ("create interface dpdk", "{name}|{device}"),
    ("create tap", "{if-name}|{?tun} tun{id}|tap{id}"),
    ("create memif socket", ""),
    ("create interface memif", "memif{socket-id}/{id}|memif0/{id}"),
    ("create netmap", "netmap-{name}"),
    ("create vhost-user", "VirtualEthernet0/0/{renumber}|VirtualEthernet0/0/0"),
    ("set host-interface l4-cksum-offload", ""),
    ("set workers", ""),
    ("set nat workers", ""),
    ("set nat44 ei workers", ""),
    ("lcp", ""),
];

/// Commands that were noted.
#[derive(Default)]
struct Noted(Vec<String>);

/// The node that stands in for the output of a device.
#[derive(Clone)]
struct Nowhere;

impl Node for Nowhere {
    const NAME: &'static str = "trial-tx";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "error-drop";
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

/// Number of a file, and a line of it, from 1.
type Place = (usize, usize);

/// Files being tried.
pub struct Trial {
    assembly: Assembly,
    /// Names of the files, for errors.
    names: Vec<String>,
    /// Commands, the first one last, with their files and lines.
    commands: Vec<(Place, String)>,
    run: Option<(Place, String, Run<Router>)>,
    /// The configuration of the router itself, by command.
    live: HashMap<String, Row>,
    /// Commands that are accepted because they are part of it.
    kept: Vec<Row>,
    collection: Option<Collection<Router>>,
}

impl Trial {
    /// A trial of texts, each with the name of its file, one after the other, beside a router that
    /// has the configuration `live`.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(router: &Router, files: &[(String, String)], live: &[Row]) -> Result<Self, Error> {
        let assembly = assembly(router).map_err(Error::new)?;
        let mut all = Vec::new();
        for (file, (_, text)) in files.iter().enumerate() {
            all.extend(commands(text).into_iter().map(|(line, command)| ((file, line), command)));
        }
        all.reverse();
        let live = live.iter().map(|row| (row.command.clone(), row.clone())).collect();
        let names = files.iter().map(|(name, _)| name.clone()).collect();
        let (run, kept, collection) = (None, Vec::new(), None);
        Ok(Self { assembly, names, commands: all, run, live, kept, collection })
    }

    /// Carries out a command or a slice of one; the configuration once all are carried out.
    pub fn step(&mut self) -> Result<Option<Vec<Row>>, Error> {
        let Assembly { router, cli, .. } = &mut self.assembly;
        if let Some(mut collection) = self.collection.take() {
            if collection.advance(router) {
                self.collection = Some(collection);
                return Ok(None);
            }
            let mut rows = collection.rows();
            rows.append(&mut self.kept);
            return Ok(Some(rows));
        }
        let Some((place, command, mut run)) = self.run.take().or_else(|| {
            let (place, command) = self.commands.pop()?;
            let run = Run::new(&command);
            Some((place, command, run))
        }) else {
            self.collection = Some(Collection::new(router.configured.clone()));
            return Ok(None);
        };
        match run.step(cli, router, &mut Output::none()) {
            Step::Done(Ok(())) => {}
            Step::Done(Err(error)) => match self.live.get(command.trim()) {
                Some(row) => self.kept.push(row.clone()),
                None => {
                    let (name, line) = (&self.names[place.0], place.1);
                    return Err(Error::bare(format!("{name}:{line}: {error}")));
                }
            },
            Step::Again | Step::Sleep(_) | Step::Wait => self.run = Some((place, command, run)),
        }
        Ok(None)
    }
}

/// Carries out files of commands in a trial beside a router that has no configuration yet; for
/// checks before a start.
///
/// # Errors
/// The first one: file, line and reason.
pub fn check(router: &Router, files: &[(String, String)]) -> Result<(), String> {
    let mut trial = Trial::new(router, files, &[]).map_err(|e| e.to_string())?;
    while trial.step().map_err(|e| e.to_string())?.is_none() {}
    Ok(())
}

/// The commands of a text with their lines, counted from 1. A command goes on with the next line
/// while its braces are open; `#` at the beginning of a line is a comment.
pub fn commands(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        if is_open && let Some((_, command)) = all.last_mut() {
            command.push('\n');
            command.push_str(line);
            is_open = control::cli::is_open(command);
        } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            all.push((at + 1, line.to_owned()));
            is_open = control::cli::is_open(line);
        }
    }
    all
}

/// A router like this one, without threads and devices.
fn assembly(router: &Router) -> Result<Assembly, String> {
    let settings = Settings { buffers: 64, ..Settings::default() };
    let made = Router::new(settings, Log::new()).map_err(|e| e.to_string())?;
    let mut assembly = Assembly::new(made);
    assembly.router.stanzas.clone_from(&router.stanzas);
    if let Some(Extra(extra)) = router.state::<Extra>() {
        extra(&mut assembly);
    }
    let is_tried = |name: &str| !DEVICES.contains(&name) && name != crate::FEATURE.name;
    for (_, feature) in router.features.iter().filter(|(_, f)| is_tried(f.name)) {
        assembly.add(feature).map_err(|e| format!("{}: {e}", feature.name))?;
    }
    assembly.router.insert(Noted::default());
    assembly.router.configured.push(("devices", Configuration::Commands(noted)));
    for (path, name) in NOTED {
        let path: &'static str = path;
        let command = Described { path, about: "Note a command", usage: "<text...>" };
        assembly.cli.command_of(command, move |router: &mut Router, args: &mut Args<'_>| {
            note(router, path, name, args.rest())
        });
    }
    assembly.router.engine.build().map_err(|e| e.to_string())?;
    assembly.router.engine.start_inline();
    Ok(assembly)
}

/// Notes a command and makes the interface that stands in for its device.
fn note(router: &mut Router, path: &str, name: &str, rest: &str) -> Result<Output, Error> {
    let command = format!("{path} {rest}");
    if !name.is_empty() {
        let name = undo::filled(name, path, &command);
        let name = name.ok_or_else(|| Error::new("it does not say the number or name"))?.command;
        let words: Vec<_> = rest.split_whitespace().collect();
        let is_ip = words.contains(&"tun") || words.windows(2).any(|w| w == ["mode", "ip"]);
        let new = NewInterface {
            name,
            kind: if is_ip { Kind::Ip } else { Kind::Ethernet },
            hardware: "trial",
            mac: if is_ip { MacAddr::ZERO } else { MacAddr([2, 0xfe, 0, 0, 0, 1]) },
            mtu: MTU,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
        router.add_interface(new, Nowhere).map_err(|e| Error::new(e.to_string()))?;
    }
    router.own_mut::<Noted>().0.push(command);
    Ok(Output::none())
}

fn noted(router: &Router, lines: &mut Lines<'_>) {
    for command in &router.own::<Noted>().0 {
        let stage = if command.starts_with("create") { Stage::Interfaces } else { Stage::Settings };
        lines.push_text(stage, command);
    }
}
