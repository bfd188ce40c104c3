//! `show api …`, `api trace …`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::clients::Clients;
use super::super::directory::Directory;
use super::super::json;
use super::super::schema::{Head, MessageInfo};
use super::file;
use crate::cli::{Cli, Command, Error, Output, Step, Task};

/// Where recorded requests are saved; the names that commands take have no folder.
const FOLDER: &str = "/tmp";

/// Show the clients of the binary API.
#[derive(Command)]
#[command("show api clients")]
struct ShowClients;

/// Show which numbers the messages of each module have.
#[derive(Command)]
#[command("show api plugin")]
struct ShowPlugin;

/// Show the numbers, names and CRCs of all messages.
#[derive(Command)]
#[command("show api message-table")]
struct ShowTable;

/// Show whether requests are recorded.
#[derive(Command)]
#[command("show api trace-status")]
struct ShowStatus;

/// Record requests, show, save and repeat them.
#[derive(Command)]
#[command("api trace")]
struct ApiTrace {
    /// record from now on
    on: bool,
    /// record no more
    off: bool,
    /// show whether requests are recorded
    status: bool,
    /// forget what was recorded
    free: bool,
    /// show what was recorded
    dump: bool,
    /// show what was recorded, as JSON
    dump_json: bool,
    /// save what was recorded, below /tmp
    #[values("file")]
    save: Option<String>,
    /// save what was recorded as JSON, below /tmp
    #[values("file")]
    save_json: Option<String>,
    /// show what is in a file
    #[values("file")]
    dump_file: Option<String>,
    /// carry out what is in a file
    #[values("file")]
    replay: Option<String>,
    /// carry out what is in a file of JSON
    #[values("file")]
    replay_json: Option<String>,
    /// begin with this request of a file, the first is 0
    first: Option<usize>,
    /// end with this request of a file
    last: Option<usize>,
    /// requests to keep
    nitems: Option<usize>,
}

/// Adds the commands; `of` finds the clients in the context.
pub fn register<C: 'static>(cli: &mut Cli<C>, of: fn(&C) -> &Clients) {
    cli.command(move |cx, _: ShowClients| Ok::<_, Error>(clients(of(cx))));
    cli.command(move |cx, _: ShowPlugin| Ok::<_, Error>(ranges(&of(cx).directory())));
    cli.command(move |cx, _: ShowTable| Ok::<_, Error>(table(&of(cx).directory())));
    cli.command(move |cx, _: ShowStatus| Ok::<_, Error>(of(cx).with_trace(|t| t.status())));
    cli.task(move |cx, command: ApiTrace| {
        let clients = of(cx).clone();
        let (output, requests) = trace(&clients, &command)?;
        Ok(Box::new(Replay { clients, output: Some(output), requests: Some(requests) }))
    });
}

fn clients(clients: &Clients) -> String {
    let clients = clients.status();
    if clients.is_empty() {
        return String::new();
    }
    let rows = clients
        .iter()
        .map(|c| format!("{:>20} {:>10} {:>15}\n", c.name, c.index & 0x7fff_ffff, c.dropped));
    let titles = format!("{:>20} {:>10} {:>15}\n", "Name", "Index", "Events dropped");
    format!("Socket clients\n{titles}{}", rows.collect::<String>())
}

fn ranges(directory: &Directory) -> String {
    let mut ranges: Vec<_> = directory.ranges.iter().collect();
    ranges.sort();
    let rows = ranges.iter().map(|(name, first, last)| format!("{name:<50}{first:>9}{last:>9}\n"));
    let titles = format!("{:<50}{:>9}{:>9}\n", "Name", "First-ID", "Last-ID");
    format!("Plugin API message ID ranges...\n{titles}{}", rows.collect::<String>())
}

fn table(directory: &Directory) -> String {
    directory.table().into_iter().map(|(id, name)| format!("{id:>6} {name}\n")).collect()
}

/// Does what a command says; what is to be carried out again is returned.
fn trace(clients: &Clients, command: &ApiTrace) -> Result<(String, Vec<Vec<u8>>), Error> {
    let directory = clients.directory();
    if command.on || command.off || command.nitems.is_some() {
        let is_on = clients.with_trace(|t| t.is_on);
        let is_on = command.on || (is_on && !command.off);
        clients.with_trace(|trace| trace.configure(is_on, command.nitems));
    }
    if command.free {
        clients.with_trace(super::Trace::free);
    }
    let mut output = String::new();
    if command.status {
        output.push_str(&clients.with_trace(|t| t.status()));
    }
    if command.dump || command.dump_json {
        let requests = clients.with_trace(|t| t.kept.iter().map(|r| r.to_vec()).collect());
        output.push_str(&text(&directory, requests, command.dump_json));
    }
    if let Some(name) = &command.save {
        output.push_str(&save(clients, name, |clients| binary(clients, &directory))?);
    }
    if let Some(name) = &command.save_json {
        let json = |clients: &Clients| {
            let requests = clients.with_trace(|t| t.kept.iter().map(|r| r.to_vec()).collect());
            text(&directory, requests, true).into_bytes()
        };
        output.push_str(&save(clients, name, json)?);
    }
    if let Some(name) = &command.dump_file {
        output.push_str(&text(&directory, read(&directory, name)?, false));
    }
    let mut requests = Vec::new();
    if let Some(name) = &command.replay {
        requests = read(&directory, name)?;
    }
    if let Some(name) = &command.replay_json {
        requests = read_json(&directory, name)?;
    }
    let (first, last) = (command.first.unwrap_or(0), command.last.unwrap_or(usize::MAX));
    let chosen = requests.into_iter().enumerate().filter(|(at, _)| (first..=last).contains(at));
    Ok((output, chosen.map(|(_, request)| request).collect()))
}

/// Saves what was recorded under a name without a folder.
fn save(
    clients: &Clients,
    name: &str,
    contents: impl Fn(&Clients) -> Vec<u8>,
) -> Result<String, Error> {
    if name.contains("..") || name.contains('/') {
        return Err(Error::new(format!("illegal characters in filename '{name}'")));
    }
    if clients.with_trace(|t| t.kept.is_empty()) {
        return Ok("API Trace data not present\n".to_owned());
    }
    let path = Path::new(FOLDER).join(name);
    let made = fs::OpenOptions::new().write(true).create_new(true).open(&path);
    match made {
        Ok(mut made) => made.write_all(&contents(clients))?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Ok(format!("file exists: {}\n", path.display()));
        }
        Err(e) => return Err(e.into()),
    }
    Ok(format!("API trace saved to {}\n", path.display()))
}

fn binary(clients: &Clients, directory: &Directory) -> Vec<u8> {
    let table = directory.table();
    clients.with_trace(|t| file::write(&table, t.has_wrapped, t.kept.iter().map(|r| &**r)))
}

/// A file as it is named, or below [`FOLDER`].
fn find(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    if path.exists() { path } else { Path::new(FOLDER).join(name) }
}

fn read_file(name: &str) -> Result<Vec<u8>, Error> {
    let path = find(name);
    let failed = |e: std::io::Error| format!("{}: {}", path.display(), crate::cli::io_text(&e));
    Ok(fs::read(&path).map_err(failed)?)
}

/// The requests of a file under the numbers that messages have now. Others are left out.
fn read(directory: &Directory, name: &str) -> Result<Vec<Vec<u8>>, Error> {
    let requests = file::read(&read_file(name)?).map_err(|e| format!("{name}: {e}"))?;
    let table = directory.table();
    let id = |name: &str| table.iter().find(|(_, known)| known == name).map(|(id, _)| *id);
    let requests = requests.into_iter().filter_map(|(name, rest)| {
        let id = id(&name)?.to_be_bytes();
        Some([&id[..], &rest].concat())
    });
    Ok(requests.collect())
}

fn read_json(directory: &Directory, name: &str) -> Result<Vec<Vec<u8>>, Error> {
    let objects: Vec<Value> =
        serde_json::from_slice(&read_file(name)?).map_err(|e| format!("{name}: {e}"))?;
    let request = |object: &Value| {
        let message = object["_msgname"].as_str().unwrap_or_default();
        let (id, info, _) = directory
            .find(message)
            .ok_or_else(|| format!("{name}: no message is called {message}"))?;
        let rest = json::to_message(info, object).map_err(|e| format!("{name}: {message}: {e}"))?;
        Ok([&id.to_be_bytes()[..], &rest].concat())
    };
    objects.iter().map(request).collect()
}

/// Requests for people: one a line, or as one array.
fn text(directory: &Directory, requests: Vec<Vec<u8>>, is_array: bool) -> String {
    let objects = requests.iter().filter_map(|request| {
        let (id, rest) = request.split_first_chunk()?;
        let (_, info, crc) = directory.at(u16::from_be_bytes(*id))?;
        json::of_message(info, crc, rest).ok()
    });
    if is_array {
        return format!("{:#}\n", Value::Array(objects.collect()));
    }
    objects.map(|object| format!("{object}\n")).collect()
}

/// Has requests carried out by the server and waits for that.
struct Replay {
    clients: Clients,
    output: Option<String>,
    requests: Option<Vec<Vec<u8>>>,
}

impl<C> Task<C> for Replay {
    fn step(&mut self, _: &mut C, out: &mut Output) -> Step {
        if let Some(text) = self.output.take() {
            out.append(Output::text(text));
        }
        if let Some(requests) = self.requests.take() {
            if requests.is_empty() {
                return Step::Done(Ok(()));
            }
            if self.clients.injected() > 0 {
                return Step::Done(Err(Error::new("others are being carried out")));
            }
            self.clients.inject(requests);
        }
        if self.clients.injected() == 0 { Step::Done(Ok(())) } else { Step::Wait }
    }
}

/// Puts the client that repeats them into requests.
pub fn readdress(info: &MessageInfo, client: u32, request: &mut [u8]) {
    if info.head == Head::Request
        && let Some(index) = request.get_mut(2..6)
    {
        index.copy_from_slice(&client.to_be_bytes());
    }
}
