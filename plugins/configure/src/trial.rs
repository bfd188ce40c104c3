//! A trial: a router without threads and devices that runs a file first. It has no outside effects:
//! [`net::Trial`] restrains features, and commands with such effects are not run.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use control::cli::{Described, Joining, Run, Step};
use control::configuration::{Collection, Row, undo};
use control::log::Log;
use control::{HIDDEN, origin};
use graph::Settings;
use net::Assembly;
use net::interface::{Kind, NewInterface, Offloads};
use net::prelude::*;

use crate::{allowed, apart};

/// Registers commands that the router has beside those of features.
pub struct Extra(pub fn(&mut Assembly));

/// Features whose interfaces are devices of the host, or programs on it, that serve clients or need
/// libraries of the system.
const DEVICES: &[&str] = &[
    "bpf_trace_filter",
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
    ("set bpf trace filter", ""),
    ("set workers", ""),
    ("set nat workers", ""),
    ("set nat44 ei workers", ""),
    ("lcp", ""),
];

/// Maximum number of files that a start may run, including nested ones.
const MOST_FILES: usize = 1000;

/// Growth of the process during a trial that is allowed whatever its size before.
const MOST_GROWTH: usize = 256 << 20;
/// Steps of a trial between two looks at the size of the process.
const STEPS: usize = 16;

/// Memory that a trial may take: a text of one line may ask for millions of routes.
struct Budget {
    most: usize,
    steps: usize,
}

impl Budget {
    fn new() -> Self {
        let size = infra::memory::in_memory().unwrap_or_default();
        Self { most: size + size.max(MOST_GROWTH), steps: 0 }
    }
    /// An error once the process has grown too much.
    fn check(&mut self) -> Result<(), Error> {
        self.steps += 1;
        let is_due = self.steps.is_multiple_of(STEPS);
        match is_due && infra::memory::in_memory().is_some_and(|size| size > self.most) {
            true => Err(Error::bare("this configuration takes too much memory to be tried")),
            false => Ok(()),
        }
    }
}

/// Commands that were noted, with the interfaces that stand in.
#[derive(Default)]
struct Noted(Vec<(String, Option<InterfaceIndex>)>);

/// Whether a command is about a device, so that a trial only notes it.
fn is_noted(command: &str) -> bool {
    NOTED.iter().any(|(path, _)| allowed::begins(command, path))
}

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

/// A command of a plan.
pub struct Planned {
    /// The line that it is for, as an error begins; without one its refusal has no consequences.
    pub place: Option<String>,
    /// The command.
    pub command: String,
}

impl From<String> for Planned {
    fn from(command: String) -> Self {
        Self { place: None, command }
    }
}

/// Origin of a command that is tried.
enum Of {
    File(Place),
    Plan(Option<String>),
}

/// Commands of a trial, made without the router.
pub struct Script {
    /// Names of the files, for errors.
    names: Vec<String>,
    /// Commands, the first one last, with their files and lines.
    commands: Vec<(Place, String)>,
    /// The configuration of the router itself, by command.
    live: HashMap<String, Row>,
    /// Commands to be rehearsed behind the files.
    rehearsed: VecDeque<Planned>,
    /// Commands that take devices back, with those that made them.
    devices: HashMap<String, String>,
}

impl Script {
    /// Texts, each with the name of its file, one after the other, beside a router that has the
    /// configuration `live`.
    ///
    /// # Errors
    /// A text hides a secret that is not known.
    pub fn new(files: &[(String, String)], live: &[Row]) -> Result<Self, Error> {
        let mut all = Vec::new();
        let hidden: HashMap<String, &Row> = live
            .iter()
            .filter(|row| !row.secrets.is_none())
            .map(|row| (row.shown(), row))
            .collect();
        for (file, (name, text)) in files.iter().enumerate() {
            for (line, command) in commands(text) {
                let command = revealed(&command, &hidden)
                    .map_err(|why| Error::bare(format!("{name}:{line}: {why}")))?;
                all.push(((file, line), command));
            }
        }
        all.reverse();
        Ok(Self {
            names: files.iter().map(|(name, _)| name.clone()).collect(),
            commands: all,
            live: live.iter().map(|row| (row.command.clone(), row.clone())).collect(),
            rehearsed: VecDeque::new(),
            devices: HashMap::new(),
        })
    }

    /// The commands of `plan` run by a router with the configuration `from`.
    ///
    /// # Errors
    /// A command hides a secret.
    pub fn rehearsal(from: &[Row], plan: VecDeque<Planned>) -> Result<Self, Error> {
        let file = ("the configuration".to_owned(), crate::history::text(from));
        let of_device = |row: &Row| {
            let undo = row.undo.as_ref().filter(|_| is_noted(&row.command))?;
            Some((undo.command.clone(), row.command.clone()))
        };
        let devices = from.iter().filter_map(of_device).collect();
        Ok(Self { rehearsed: plan, devices, ..Self::new(&[file], from)? })
    }
}

/// Files being tried.
pub struct Trial {
    assembly: Assembly,
    script: Script,
    run: Option<(Of, String, Run<Router>)>,
    /// Commands that are accepted because they are part of the live configuration.
    kept: Vec<Row>,
    collection: Option<Collection<Router>>,
    /// Whether the files are those of a start, which may also look and act: that is passed over.
    is_start: bool,
    budget: Budget,
}

impl Drop for Trial {
    fn drop(&mut self) {
        if self.script.live.len() > apart::LARGE {
            let live = std::mem::take(&mut self.script.live);
            apart::let_go((live, std::mem::take(&mut self.script.commands)));
        }
    }
}

impl Trial {
    /// A trial of texts, each with the name of its file, one after the other, beside a router that
    /// has the configuration `live`.
    ///
    /// # Errors
    /// There is no memory; a text hides a secret that is not known.
    pub fn new(router: &Router, files: &[(String, String)], live: &[Row]) -> Result<Self, Error> {
        Self::of(router, Script::new(files, live)?)
    }

    /// A trial of a script.
    ///
    /// # Errors
    /// There is no memory.
    pub fn of(router: &Router, script: Script) -> Result<Self, Error> {
        Ok(Self {
            assembly: assembly(router).map_err(Error::new)?,
            script,
            run: None,
            kept: Vec::new(),
            collection: None,
            is_start: false,
            budget: Budget::new(),
        })
    }

    /// Runs a command or a slice of one; returns the configuration once all have run.
    ///
    /// # Errors
    /// That of a command: file, line and reason. The next call goes on behind it.
    pub fn step(&mut self) -> Result<Option<Vec<Row>>, Error> {
        self.budget.check()?;
        let router = &self.assembly.router;
        if let Some(mut collection) = self.collection.take() {
            if collection.advance(router) {
                self.collection = Some(collection);
                return Ok(None);
            }
            let mut rows = collection.rows();
            rows.append(&mut self.kept);
            return Ok(Some(rows));
        }
        let Some((of, command, mut run)) = self.run.take().or_else(|| self.next()) else {
            self.collection = Some(self.assembly.router.collect());
            return Ok(None);
        };
        let made = self.script.devices.get(&command).filter(|_| matches!(of, Of::Plan(_)));
        if let Some(made) = made {
            forget(&mut self.assembly.router, made);
            return Ok(None);
        }
        if let (true, Of::File(place)) = (self.is_start, &of)
            && self.is_passed_over(*place, &command)?
        {
            return Ok(None);
        }
        let Assembly { router, cli, .. } = &mut self.assembly;
        let step = origin::elsewhere(|| run.step(cli, router, &mut Output::none()));
        match step {
            Step::Done(Ok(())) => {}
            Step::Done(Err(error)) => match (self.script.live.get(command.trim()), of) {
                (_, Of::Plan(None)) => {}
                (_, Of::Plan(Some(place))) => {
                    let undo = |row: &Row| row.undo.as_ref().map(|undo| undo.command.clone());
                    let kept =
                        self.kept.iter().position(|row| undo(row).as_ref() == Some(&command));
                    match kept {
                        Some(at) => drop(self.kept.remove(at)),
                        None => return Err(Error::bare(format!("{place}{error}"))),
                    }
                }
                (Some(row), _) => self.kept.push(row.clone()),
                (None, Of::File((file, line))) => {
                    return Err(Error::bare(format!(
                        "{}:{line}: {error}",
                        self.script.names[file]
                    )));
                }
            },
            Step::Again | Step::Sleep(_) | Step::Wait => self.run = Some((of, command, run)),
        }
        Ok(None)
    }

    fn next(&mut self) -> Option<(Of, String, Run<Router>)> {
        let of_file = self.script.commands.pop().map(|(place, command)| (Of::File(place), command));
        let planned = || {
            let Planned { place, command } = self.script.rehearsed.pop_front()?;
            Some((Of::Plan(place), command))
        };
        let (of, command) = of_file.or_else(planned)?;
        let run = Run::new(&command);
        Some((of, command, run))
    }

    /// Whether a command of a start makes no configuration. The commands of a file that it names
    /// come next.
    fn is_passed_over(&mut self, (file, line): Place, command: &str) -> Result<bool, Error> {
        let Some((path, rest)) = self.assembly.cli.command_on(command) else { return Ok(false) };
        if path == "exec" {
            let name = rest.trim();
            self.follow(name).map_err(|why| {
                Error::bare(format!("{}:{line}: exec: `{name}': {why}", self.script.names[file]))
            })?;
        }
        Ok(allowed::makes_configuration(&path) == Some(false))
    }

    /// Inserts the commands of a file that a start runs.
    fn follow(&mut self, name: &str) -> Result<(), String> {
        if self.script.names.len() == MOST_FILES {
            return Err("files are nested too deeply".to_owned());
        }
        let failed = |e: std::io::Error| control::cli::io_text(&e);
        if !fs::metadata(Path::new(name)).map_err(failed)?.is_file() {
            return Err("not a regular file".to_owned());
        }
        let text = fs::read_to_string(name).map_err(failed)?;
        let file = self.script.names.len();
        self.script.names.push(name.to_owned());
        let all = commands(&text).into_iter().map(|(line, command)| ((file, line), command));
        self.script.commands.extend(all.rev());
        Ok(())
    }
}

/// A command with the secrets that the router has where it says [`HIDDEN`]; `hidden` are the rows
/// with secrets as they are shown.
fn revealed(command: &str, hidden: &HashMap<String, &Row>) -> Result<String, String> {
    let words: Vec<_> = command.split_whitespace().collect();
    if !words.contains(&HIDDEN) {
        return Ok(command.to_owned());
    }
    let shown = words.join(" ");
    match hidden.get(&shown) {
        Some(row) => Ok(row.command.clone()),
        None => Err(format!(
            "`{HIDDEN}' stands for the secret of a running command, and there is no `{}'",
            command.trim()
        )),
    }
}

/// Runs files of commands in a trial beside a router that has no configuration yet; for checks
/// before a start. Commands that are not configuration are skipped, but the files that `exec` names
/// are read.
///
/// # Errors
/// The first one: file, line and reason.
pub fn check(router: &Router, files: &[(String, String)]) -> Result<(), String> {
    let mut trial = Trial::new(router, files, &[]).map_err(|e| e.to_string())?;
    trial.is_start = true;
    while trial.step().map_err(|e| e.to_string())?.is_none() {}
    Ok(())
}

/// The commands of a text with their lines, counted from 1. A command goes on with the next line
/// while its braces are open; `#` at the beginning of a line is a comment.
pub fn commands(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut joining = Joining::default();
    // Some editors put a byte order mark before a text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate() {
        if joining.is_continued()
            && let Some((_, command)) = all.last_mut()
        {
            command.push('\n');
            command.push_str(line);
            joining.take(line);
        } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            all.push((at + 1, line.to_owned()));
            joining.take(line);
        }
    }
    all
}

/// A router like this one, without threads and devices.
fn assembly(router: &Router) -> Result<Assembly, String> {
    let settings = Settings { buffers: 64, ..Settings::default() };
    let made = Router::new(settings, Log::new()).map_err(|e| e.to_string())?;
    let mut assembly = Assembly::new(made);
    assembly.router.insert(net::Trial);
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
    assembly.cli.limit(allowed::limit);
    assembly.router.engine.build().map_err(|e| e.to_string())?;
    assembly.router.engine.start_inline();
    Ok(assembly)
}

/// Notes a command and makes the interface that stands in for its device.
fn note(router: &mut Router, path: &str, name: &str, rest: &str) -> Result<Output, Error> {
    let command = format!("{path} {rest}");
    let mut interface = None;
    if !name.is_empty() {
        let name = undo::filled(name, path, &command);
        let name = name.ok_or_else(|| Error::new("the number or name is missing"))?.command;
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
        let made = router.add_interface(new, Nowhere);
        interface = Some(made.map_err(|e| Error::new(e.to_string()))?);
    }
    router.own_mut::<Noted>().0.push((command, interface));
    Ok(Output::none())
}

/// Takes back a command that was noted.
fn forget(router: &mut Router, command: &str) {
    let noted = &mut router.own_mut::<Noted>().0;
    let Some(at) = noted.iter().position(|(noted, _)| noted == command) else { return };
    if let (_, Some(interface)) = noted.remove(at) {
        router.remove_interface(interface);
    }
}

fn noted(router: &Router, lines: &mut Lines<'_>) {
    for (command, _) in &router.own::<Noted>().0 {
        let stage = if command.starts_with("create") { Stage::Interfaces } else { Stage::Settings };
        // Only rehearsals take it back.
        let undo = undo::Undo { command: format!("forget {command}"), is_setting: false };
        lines.push_row(stage, command, Some(undo));
    }
}
