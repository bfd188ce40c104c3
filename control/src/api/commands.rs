//! `show api …`, and `binary-api`: any message as a command.

use std::fmt::Write as _;

use infra::order::Order;
use serde_json::{Map, Value, json};

use super::clients::{Clients, Status};
use super::directory::Directory;
use super::json::{Secrets, of as json_of, to_message};
use super::schema::{Count, FieldInfo, Head, MessageInfo};
use super::{crc, trace};
use crate::cli::{Args, Cli, Command, Error, Output, Step, Task};

/// Show the clients of the binary API.
#[derive(Command)]
#[command("show api clients")]
struct ShowClients;

/// Show the message ID range of each module.
#[derive(Command)]
#[command("show api plugin")]
struct ShowPlugin;

/// Show message IDs, names and CRCs.
#[derive(Command)]
#[command("show api message-table")]
struct ShowTable {
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

/// Show clients connected through shared memory.
#[derive(Command)]
#[command("show api ring-stats")]
struct ShowRings;

/// Show a histogram of requests answered per turn.
#[derive(Command)]
#[command("show api histogram")]
struct ShowHistogram;

/// Clear the histogram of requests answered per turn.
#[derive(Command)]
#[command("clear api histogram")]
struct ClearHistogram;

/// `binary-api [help] NAME [FIELD VALUE]...`.
struct BinaryApi {
    name: String,
    /// Show the fields instead.
    helps: bool,
    fields: Value,
}

impl Command for BinaryApi {
    const PATHS: &'static [&'static str] = &["binary-api"];
    const ABOUT: &'static str = "Send a binary API message and show the replies";
    const USAGE: &'static str = "[help] <name> [<field> <value>]...";
    const SECRET_REST: Option<usize> = Some(1);

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let helps = args.keyword("help");
        let name = args.value("name of a message")?;
        let mut fields = Map::new();
        if args.peek() == Some("{") {
            let text = args.rest();
            let fields = serde_json::from_str(text).map_err(|e| e.to_string())?;
            return Ok(Self { name, helps, fields });
        }
        while let Some(field) = args.word() {
            let form = || {
                format!(
                    "missing value after the field `{field}': the form is NAME FIELD VALUE…, and \
                        `binary-api help {name}' lists the fields"
                )
            };
            let value: String = args.value(field).map_err(|_| Error::new(form()).at(field))?;
            let value = match value.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                text => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            };
            put(&mut fields, field, value);
        }
        Ok(Self { name, helps, fields: Value::Object(fields) })
    }
}

/// Puts a value at `a.b.c`.
fn put(fields: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(fields.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let inner = fields.entry(first).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Adds the commands; `of` finds the clients in the context.
pub fn register<C: 'static>(cli: &mut Cli<C>, of: fn(&C) -> &Clients) {
    cli.command(move |cx, _: ShowClients| Ok::<_, Error>(clients(of(cx))));
    cli.command(move |cx, _: ShowPlugin| Ok::<_, Error>(ranges(&of(cx).directory())));
    cli.command(move |cx, _: ShowTable| Ok::<_, Error>(rows(&of(cx).directory().table())));
    cli.command(move |cx, _: ShowRings| Ok::<_, Error>(rings(of(cx))));
    cli.command(move |cx, _: ShowHistogram| Ok::<_, Error>(histogram(of(cx))));
    cli.command(move |cx, _: ClearHistogram| {
        of(cx).clear_turns();
        Ok(())
    });
    cli.task(move |cx, command: BinaryApi| {
        let clients = of(cx).clone();
        let directory = clients.directory();
        let (id, info, _) = find(&directory, &command.name)?;
        if command.helps {
            return Ok(Box::new(Exchange { clients, request: None, output: help(info) }));
        }
        let rest = to_message(info, &command.fields)?;
        let request = Some([&id.to_be_bytes()[..], &rest].concat());
        Ok(Box::new(Exchange { clients, request, output: String::new() }))
    });
    trace::register(cli, of);
}

fn clients(clients: &Clients) -> Output {
    let clients = clients.status();
    let json: Vec<_> = clients
        .iter()
        .map(|c| json!({"name": c.name, "index": number(c), "dropped": c.dropped}))
        .collect();
    if clients.is_empty() {
        return Output::both("", json);
    }
    let rows =
        clients.iter().map(|c| format!("{:>20} {:>10} {:>15}\n", c.name, number(c), c.dropped));
    let titles = format!("{:>20} {:>10} {:>15}\n", "Name", "Index", "Events dropped");
    Output::both(format!("Socket clients\n{titles}{}", rows.collect::<String>()), json)
}

/// A client's number as people see it.
fn number(client: &Status) -> u32 {
    client.index & 0x7fff_ffff
}

fn ranges(directory: &Directory) -> Output {
    let mut ranges: Vec<_> = directory.ranges.iter().collect();
    ranges.order();
    let rows = ranges.iter().map(|(name, first, last)| format!("{name:<50}{first:>9}{last:>9}\n"));
    let titles = format!("{:<50}{:>9}{:>9}\n", "Name", "First-ID", "Last-ID");
    let json = ranges
        .iter()
        .map(|(name, first, last)| json!({"name": name, "first": first, "last": last}));
    let text = format!("Plugin API message ID ranges...\n{titles}{}", rows.collect::<String>());
    Output::both(text, json.collect::<Vec<_>>())
}

/// Numbers and names of messages, one a line.
pub(super) fn rows(table: &[(u16, String)]) -> Output {
    let text: String = table.iter().map(|(id, name)| format!("{id:>6} {name}\n")).collect();
    let json = table.iter().map(|(id, name)| json!({"id": id, "name": name}));
    Output::both(text, json.collect::<Vec<_>>())
}

fn rings(clients: &Clients) -> Output {
    let mut text = format!("{:>20} {:>10} {:>15}\n", "Owner", "Index", "Bytes each way");
    let mut json = Vec::new();
    for client in clients.status() {
        if let Some(bytes) = client.lane {
            let index = number(&client);
            let _ = writeln!(text, "{:>20} {index:>10} {bytes:>15}", client.name);
            json.push(json!({"name": client.name, "index": index, "bytes": bytes}));
        }
    }
    Output::both(text, json)
}

fn histogram(clients: &Clients) -> Output {
    let turns = clients.turns();
    let mut text = format!("{:>20} {:>15}\n", "Requests in a turn", "Turns");
    for (group, count) in turns.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (first, last) = (1 << group, (2 << group) - 1);
        let range = match group {
            0 => "1".to_owned(),
            group if group + 1 == turns.len() => format!("{first} or more"),
            _ => format!("{first} to {last}"),
        };
        let _ = writeln!(text, "{range:>20} {count:>15}");
    }
    Output::both(text, turns)
}

fn find(directory: &Directory, name: &str) -> Result<(u16, &'static MessageInfo, u32), Error> {
    let found = directory.find(name).filter(|(_, info, _)| info.head == Head::Request);
    found.ok_or_else(|| Error::new(format!("no request {name}")))
}

/// The fields of a message, one a line.
fn help(info: &MessageInfo) -> String {
    let mut text = format!("{}: {}\n", info.name, info.about);
    for field in info.fields {
        let _ = writeln!(text, "  {:<24} {:<32} {}", field.name, type_of(field), field.about);
    }
    text
}

/// A field's type as declarations write it.
pub(super) fn type_of(field: &FieldInfo) -> String {
    let name = crc::type_name(&field.ty);
    match field.count {
        Count::One => name,
        Count::Fixed(count) => format!("{name}[{count}]"),
        Count::Counted(by) => format!("{name}[{by}]"),
        Count::Text => format!("{name}[]"),
    }
}

/// Sends a request and waits for its replies.
struct Exchange {
    clients: Clients,
    request: Option<Vec<u8>>,
    output: String,
}

impl<C> Task<C> for Exchange {
    fn step(&mut self, _: &mut C, out: &mut Output) -> Step {
        if !self.output.is_empty() {
            out.append(Output::text(std::mem::take(&mut self.output)));
            return Step::Done(Ok(()));
        }
        if let Some(request) = self.request.take() {
            if self.clients.injected() > 0 {
                return Step::Done(Err(Error::new("another one is running")));
            }
            self.clients.inject(vec![request], true);
        }
        if self.clients.injected() > 0 {
            return Step::Wait;
        }
        let directory = self.clients.directory();
        let answers = self.clients.take_answers();
        let shown =
            answers.iter().filter_map(|answer| json_of(&directory, answer, Secrets::Hidden));
        out.append(Output::text(shown.map(|answer| format!("{answer:#}\n")).collect::<String>()));
        Step::Done(Ok(()))
    }
}
