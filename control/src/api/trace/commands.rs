//! `api trace …` and what shows its files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use infra::order::Order;
use serde_json::{Value, json};

use super::super::clients::Clients;
use super::super::commands::rows;
use super::super::directory::Directory;
use super::super::json::{Secrets, of as json_of, to_message};
use super::super::schema::{Head, MessageInfo};
use super::{Direction, Trace, file};
use crate::cli::{Cli, Command, Error, Output, Step, Task};
use crate::private_file;

/// Folder of saved traces; the names that commands take have none.
const FOLDER: &str = "/tmp";

/// Show whether requests are recorded.
#[derive(Command)]
#[command("show api trace-status")]
struct ShowStatus;

/// Record, show, save and replay API requests.
#[derive(Command)]
#[command("api trace")]
struct ApiTrace {
    /// start recording
    #[alias("enable")]
    on: bool,
    /// stop recording
    #[alias("disable")]
    off: bool,
    /// record replies and events instead of requests
    tx: bool,
    /// show whether requests are recorded
    status: bool,
    /// discard the recording
    free: bool,
    /// show the recording
    dump: bool,
    /// show the recording as JSON
    dump_json: bool,
    /// save the recording below /tmp
    #[values("file")]
    save: Option<String>,
    /// save the recording as JSON below /tmp
    #[values("file")]
    save_json: Option<String>,
    /// show a saved recording
    #[values("file")]
    dump_file: Option<String>,
    /// show a saved recording as JSON
    #[values("file")]
    #[alias("dump-file-json")]
    tojson: Option<String>,
    /// replay a saved recording
    #[values("file")]
    replay: Option<String>,
    /// replay a recording saved as JSON
    #[values("file")]
    replay_json: Option<String>,
    /// first request of the file to replay, from 0
    first: Option<usize>,
    /// last request of the file to replay
    last: Option<usize>,
    /// number of requests to keep
    nitems: Option<usize>,
}

/// Show the message IDs in effect when an API trace file was written.
#[derive(Command)]
#[command("show api dump")]
struct ShowDump {
    /// the file
    #[values("file")]
    file: String,
    /// sort by ID instead of by name
    numeric: bool,
    /// only those that differ now
    #[alias("compare")]
    compare_current: bool,
}

/// Adds the commands; `of` finds the clients in the context.
pub fn register<C: 'static>(cli: &mut Cli<C>, of: fn(&C) -> &Clients) {
    cli.command(move |cx, _: ShowStatus| {
        let clients = of(cx);
        let of = |d| clients.with_trace(d, |t| json!({"on": t.is_on, "kept": t.kept.len()}));
        let json = json!({"rx": of(Direction::Rx), "tx": of(Direction::Tx)});
        Ok::<_, Error>(Output::both(status(clients), json))
    });
    cli.command(move |cx, show: ShowDump| table(&of(cx).directory(), &show));
    cli.task(move |cx, command: ApiTrace| {
        let clients = of(cx).clone();
        let (output, requests) = trace(&clients, &command)?;
        Ok(Box::new(Replay { clients, output: Some(output), requests: Some(requests) }))
    });
}

fn status(clients: &Clients) -> String {
    [Direction::Rx, Direction::Tx].map(|d| clients.with_trace(d, |t| t.status(d))).concat()
}

/// The table of messages in a file.
fn table(directory: &Directory, show: &ShowDump) -> Result<Output, Error> {
    let name = &show.file;
    let mut table = file::table(&read_file(name)?).map_err(|e| format!("{name}: {e}"))?;
    if show.compare_current {
        let now = directory.table();
        table.retain(|entry| !now.contains(entry));
    }
    if !show.numeric {
        table.order_by(|a, b| a.1.cmp(&b.1));
    }
    Ok(rows(&table))
}

/// Runs a trace command; requests to be replayed are returned.
fn trace(clients: &Clients, command: &ApiTrace) -> Result<(String, Vec<Vec<u8>>), Error> {
    let directory = clients.directory();
    let direction = if command.tx { Direction::Tx } else { Direction::Rx };
    if command.on || command.off || command.nitems.is_some() {
        let is_on = clients.with_trace(direction, |t| t.is_on);
        let is_on = command.on || (is_on && !command.off);
        clients.with_trace(direction, |trace| trace.configure(is_on, command.nitems));
    }
    if command.free {
        clients.with_trace(direction, Trace::free);
    }
    let mut output = String::new();
    if command.status {
        output.push_str(&status(clients));
    }
    if command.dump || command.dump_json {
        output.push_str(&text(
            &directory,
            kept(clients, direction),
            command.dump_json,
            Secrets::Hidden,
        ));
    }
    if let Some(name) = &command.save {
        let bytes = || {
            let table = directory.table();
            let write =
                |t: &mut Trace| file::write(&table, t.has_wrapped, t.kept.iter().map(|r| &**r));
            clients.with_trace(direction, write)
        };
        output.push_str(&save(kept(clients, direction).is_empty(), name, bytes)?);
    }
    if let Some(name) = &command.save_json {
        let kept = kept(clients, direction);
        let is_empty = kept.is_empty();
        let json = || text(&directory, kept, true, Secrets::Kept).into_bytes();
        output.push_str(&save(is_empty, name, json)?);
    }
    if let Some(name) = &command.dump_file {
        output.push_str(&text(&directory, read(&directory, name)?, false, Secrets::Hidden));
    }
    if let Some(name) = &command.tojson {
        output.push_str(&text(&directory, read(&directory, name)?, true, Secrets::Hidden));
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

/// The messages that were recorded.
fn kept(clients: &Clients, direction: Direction) -> Vec<Vec<u8>> {
    clients.with_trace(direction, |t| t.kept.iter().map(|r| r.to_vec()).collect())
}

/// Saves what was recorded under a name without a folder.
fn save(is_empty: bool, name: &str, contents: impl FnOnce() -> Vec<u8>) -> Result<String, Error> {
    if name.contains("..") || name.contains('/') {
        return Err(Error::new(format!("illegal characters in filename '{name}'")));
    }
    if is_empty {
        return Ok("API Trace data not present\n".to_owned());
    }
    let path = Path::new(FOLDER).join(name);
    match private_file::create(&path) {
        Ok(mut made) => made.write_all(&contents())?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Ok(format!("file exists: {}\n", path.display()));
        }
        Err(e) => return Err(e.into()),
    }
    Ok(format!("API trace saved to {}\n", path.display()))
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
        let (id, info, _) =
            directory.find(message).ok_or_else(|| format!("{name}: no message {message}"))?;
        let rest = to_message(info, object).map_err(|e| format!("{name}: {message}: {e}"))?;
        Ok([&id.to_be_bytes()[..], &rest].concat())
    };
    objects.iter().map(request).collect()
}

/// Messages for people: one a line, or as one array.
fn text(directory: &Directory, messages: Vec<Vec<u8>>, is_array: bool, secrets: Secrets) -> String {
    let objects = messages.iter().filter_map(|message| json_of(directory, message, secrets));
    if is_array {
        return format!("{:#}\n", Value::Array(objects.collect()));
    }
    objects.map(|object| format!("{object}\n")).collect()
}

/// Makes the server run requests and waits for them.
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
                return Step::Done(Err(Error::new("another one is running")));
            }
            self.clients.inject(requests, false);
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
