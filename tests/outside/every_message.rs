//! Every request of the live table is asked once, with values made from its declaration, and
//! answered as its declaration says.

use std::collections::BTreeSet;
use std::io::Write;

use bindings::{Answer, Body, Count, DESCRIPTIONS, Field, Message, Model, Type};
use tests::{Daemon, Host, is_root};

use crate::clients::{Client, frame};

/// Context of each request, by which its reply is known.
const CONTEXT: u32 = 0x0a11_0001;
/// Behind it, answered when all else is.
const LAST: u32 = 0x0a11_0002;
/// The interface that requests name: `pg0`.
const INTERFACE: u64 = 1;
/// Return value for a mistake of ours.
const UNSPECIFIED: i32 = -1;
/// Refused for good: what only makes sense in the original's shared memory, no command at all,
/// sockets for punted packets where the configuration has none, and bindings without a protocol.
const REFUSED: [&str; 4] = ["cli_inband_reply", "memclnt_", "punt_socket_", "pnat_"];

/// The bytes of fields: defaults where there are some, the interface, and zeros.
fn encode(model: &Model, fields: &[Field], out: &mut Vec<u8>) {
    for field in fields {
        let start = out.len();
        let size = model.size(field);
        match (&field.ty, field.count == Count::One) {
            (Type::Named(name), true) if name == "interface_index" => number(INTERFACE, size, out),
            (Type::Named(name), true) => named(model, name, field, out),
            (_, true) => number(preset(field), size, out),
            _ => {}
        }
        out.resize(start + size, 0);
    }
}

fn named(model: &Model, name: &str, field: &Field, out: &mut Vec<u8>) {
    match model.types.iter().find(|d| d.name == name).map(|d| &d.body) {
        Some(Body::Record(fields)) => encode(model, fields, out),
        Some(Body::Numbers(_, false, values)) => {
            let first = values.first().map_or(0, |(_, value)| *value);
            let value = if field.default.is_some() { preset(field) } else { first };
            number(value, model.size(field), out);
        }
        _ => number(preset(field), model.size(field), out),
    }
}

/// The default of a field, as a number.
fn preset(field: &Field) -> u64 {
    let Some(value) = &field.default else { return 0 };
    let word = value.as_str().is_some_and(|word| word == "true");
    value.as_u64().unwrap_or_else(|| value.as_bool().unwrap_or(word).into())
}

fn number(value: u64, size: usize, out: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    out.extend(&bytes[8 - size.min(8)..]);
}

/// Place of a field of a message, behind the message's number.
fn position(model: &Model, message: &Message, name: &str) -> Option<usize> {
    let at = message.fields.iter().position(|field| field.name == name)?;
    Some(2 + message.fields[..at].iter().map(|field| model.size(field)).sum::<usize>())
}

fn read(bytes: &[u8], at: Option<usize>) -> Option<u32> {
    let bytes = bytes.get(at?..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// Fault in the answers to a request.
fn complaint(model: &Model, request: &Message, answers: &[(&Message, Vec<u8>)]) -> Option<String> {
    let names: Vec<_> = answers.iter().map(|(m, _)| m.name.as_str()).collect();
    let is_as_declared = match &request.answer {
        Answer::None => names.is_empty(),
        Answer::Reply(reply) => names == [reply],
        Answer::Dump(row) => {
            // Some have an end that the service does not name.
            let end = format!("{}_reply", request.name);
            let rows = names.strip_suffix(&[end.as_str()]).unwrap_or(&names);
            rows.iter().all(|name| name == row)
        }
        Answer::Stream(row, reply) => {
            let last = names.split_last();
            last.is_some_and(|(last, rows)| *last == reply && rows.iter().all(|name| name == row))
        }
    };
    if !is_as_declared {
        return Some(format!("answered with {names:?}"));
    }
    for (message, bytes) in answers {
        let context = read(bytes, position(model, message, "context"));
        if context.is_some_and(|context| context != CONTEXT) {
            return Some(format!("{}: context {context:x?}", message.name));
        }
        let retval = read(bytes, position(model, message, "retval")).map(|n| n as i32);
        let is_refused = REFUSED.iter().any(|start| message.name.starts_with(start));
        if retval == Some(UNSPECIFIED) && !is_refused {
            return Some(format!("{}: no reason why", message.name));
        }
    }
    None
}

#[test]
fn every_request_is_answered() {
    let model = Model::read(DESCRIPTIONS.as_ref()).unwrap();
    // Some make devices.
    let host = is_root().then(Host::alone);
    let daemon = match &host {
        Some(host) => Daemon::start_in(host.namespace(), "", crate::GENERATORS),
        None => Daemon::start(crate::GENERATORS),
    };
    let mut client = Client::connect(&daemon);
    let names = client.names.clone();
    let by_name = |name: &str| model.messages.iter().find(|m| m.name == name);
    let offered = names.iter().filter_map(|(id, name)| Some((*id, by_name(name)?)));
    let mut called = BTreeSet::new();
    let mut wrong = Vec::new();
    for (id, request) in offered.filter(|(_, m)| is_request(&model, m)) {
        called.insert(request.name.as_str());
        let mut bytes = id.to_be_bytes().to_vec();
        encode(&model, &request.fields, &mut bytes);
        for (name, value) in [("client_index", client.index), ("context", CONTEXT.to_be_bytes())] {
            if let Some(at) = position(&model, request, name) {
                bytes[at..at + 4].copy_from_slice(&value);
            }
        }
        let ping = [&[0, 23][..], &client.index, &LAST.to_be_bytes()].concat();
        client.stream.write_all(&[frame(&bytes), frame(&ping)].concat()).unwrap();
        let mut answers = Vec::new();
        loop {
            let message = client.receive();
            if read(&message, Some(2)) == Some(LAST) {
                break;
            }
            let id = u16::from_be_bytes([message[0], message[1]]);
            let name = names.iter().find(|(known, _)| *known == id).map(|(_, name)| name);
            let known = by_name(name.expect("it is in the table")).expect("it is described");
            // Events come when they like.
            if position(&model, known, "context").is_some() || !known.name.ends_with("_event") {
                answers.push((known, message));
            }
        }
        let found = complaint(&model, request, &answers);
        wrong.extend(found.map(|what| format!("{}: {what}", request.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Messages that are neither requests nor named by one have no caller.
    let answered = model.messages.iter().flat_map(|m| match &m.answer {
        Answer::None => vec![],
        Answer::Reply(name) | Answer::Dump(name) => vec![name.as_str()],
        Answer::Stream(row, reply) => vec![row.as_str(), reply.as_str()],
    });
    let known: BTreeSet<_> = answered.chain(called.iter().copied()).collect();
    let is_event = |name: &str| name.ends_with("_event") || name.contains("_event_");
    let left: Vec<_> = names.iter().map(|(_, name)| name.as_str()).collect();
    let left: Vec<_> =
        left.into_iter().filter(|name| !known.contains(name) && !is_event(name)).collect();
    assert!(left.is_empty(), "nobody asks for {left:?}");
    assert!(called.len() > 150, "{} requests", called.len());
}

/// Whether it is to be answered: it says so, or it is no answer itself.
fn is_request(model: &Model, message: &Message) -> bool {
    let is_silent = || {
        let is_named = |m: &Message| match &m.answer {
            Answer::None => false,
            Answer::Reply(name) | Answer::Dump(name) => *name == message.name,
            Answer::Stream(row, reply) => *row == message.name || *reply == message.name,
        };
        !message.name.contains("_event") && !model.messages.iter().any(is_named)
    };
    message.answer != Answer::None || is_silent()
}
