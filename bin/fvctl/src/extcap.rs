//! `fvctl extcap`, or `ferrovia-extcap`: the router's interfaces in Wireshark's own list
//! (<https://www.wireshark.org/docs/wsdg_html_chunked/ChCaptureExtcap.html>).

use std::fs::OpenOptions;
use std::io::{self, Write};

use clap::{Arg, ArgAction};
use serde_json::Value;

use crate::capture::{self, Wish};
use crate::link::{Link, Outcome};

/// Name of this program in Wireshark's folder.
pub const NAME: &str = "ferrovia-extcap";
/// In front of the name of an interface.
const PREFIX: &str = "ferrovia-";
/// All interfaces.
const ANY: &str = "ferrovia-any";

fn options() -> clap::Command {
    let flag = |id: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue);
    let text = |id: &'static str| Arg::new(id).long(id).num_args(1);
    clap::Command::new(NAME)
        .about("Lists and captures interfaces of the router for Wireshark")
        .arg(flag("extcap-interfaces").help("list the interfaces"))
        .arg(text("extcap-version").help("version of Wireshark"))
        .arg(text("extcap-interface").help("the interface that is meant"))
        .arg(flag("extcap-dlts").help("list its link types"))
        .arg(flag("extcap-config").help("list its options"))
        .arg(text("extcap-capture-filter").help("only packets that this chooses"))
        .arg(flag("capture").help("capture"))
        .arg(text("fifo").help("where to"))
        .arg(
            text("direction").value_parser(["rx", "tx", "both", "none"]).help("rx, tx, both, none"),
        )
        .arg(flag("drop").help("dropped packets"))
        .arg(text("reason").help("only packets dropped for this reason, or by this node"))
        .arg(text("node").help("packets entering this node"))
        .arg(text("arc").help("packets entering this feature arc"))
        .arg(text("router").help("path of the router's CLI socket"))
}

/// Answers Wireshark's requests; false if it failed.
pub fn run(socket: Option<&str>, words: &[&str]) -> io::Result<bool> {
    let given = crate::given(options(), words);
    let text = |id: &str| given.get_one::<String>(id).filter(|text| !text.is_empty());
    let socket = text("router").map(String::as_str).or(socket);
    let mut out = io::stdout().lock();
    if given.get_flag("extcap-interfaces") {
        out.write_all(interfaces(socket).as_bytes())?;
    } else if given.get_flag("extcap-dlts") {
        // Packets without a layer 2 header are marked as such in the file.
        writeln!(out, "dlt {{number=1}}{{name=EN10MB}}{{display=Ethernet}}")?;
    } else if given.get_flag("extcap-config") {
        out.write_all(config().as_bytes())?;
    } else if given.get_flag("capture") {
        let Some(fifo) = text("fifo") else {
            eprintln!("{NAME}: --capture needs --fifo");
            return Ok(false);
        };
        let interface = text("extcap-interface").and_then(|name| name.strip_prefix(PREFIX));
        let all = |id| text(id).into_iter().cloned().collect::<Vec<_>>();
        let wish = Wish {
            interfaces: interface.filter(|n| *n != "any").map(str::to_owned).into_iter().collect(),
            direction: text("direction").filter(|d| *d != "none").cloned(),
            nodes: all("node"),
            arcs: all("arc"),
            drop: given.get_flag("drop"),
            reasons: all("reason"),
            filter: text("extcap-capture-filter").cloned().unwrap_or_default(),
            ..Wish::default()
        };
        let mut fifo = OpenOptions::new().write(true).open(fifo)?;
        return capture::live(socket, &wish, &mut fifo);
    }
    Ok(true)
}

/// Options of a capture, as Wireshark shows them: name, text, type, and what it is.
const CONFIG: [[&str; 4]; 6] = [
    ["direction", "Direction", "selector", "Packets received, transmitted, or both"],
    ["drop", "Dropped packets", "boolflag", "With the reason as comment"],
    ["reason", "Reason", "string", "Only packets dropped for this reason: node.reason, or node"],
    ["node", "Node", "string", "Packets entering this node"],
    ["arc", "Feature arc", "string", "Packets entering this feature arc"],
    ["router", "Router", "string", "Path of its CLI socket, if it is at none of the usual places"],
];
/// Values of the direction; the first one is the usual one.
const DIRECTIONS: [[&str; 2]; 4] =
    [["both", "In and out"], ["rx", "In"], ["tx", "Out"], ["none", "Neither"]];

/// These, in Wireshark's language.
fn config() -> String {
    let mut text = String::new();
    for (number, [name, display, kind, help]) in CONFIG.iter().enumerate() {
        text += &format!("arg {{number={number}}}{{call=--{name}}}{{display={display}}}");
        text += &format!("{{type={kind}}}{{tooltip={help}}}\n");
    }
    for (at, [value, display]) in DIRECTIONS.iter().enumerate() {
        let usual = at == 0;
        text += &format!("value {{arg=0}}{{value={value}}}{{display={display}}}");
        text += &format!("{{default={usual}}}\n");
    }
    text
}

/// The list of interfaces: without a router the one for all, whose options name its socket.
fn interfaces(socket: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut list = format!("extcap {{version={version}}}{{display=Ferrovia}}\n");
    list += &format!("interface {{value={ANY}}}{{display=Ferrovia: all interfaces}}\n");
    for name in names(socket).unwrap_or_default() {
        list += &format!("interface {{value={PREFIX}{name}}}{{display=Ferrovia: {name}}}\n");
    }
    list
}

fn names(socket: Option<&str>) -> io::Result<Vec<String>> {
    let mut text = String::new();
    let outcome = Link::open(socket)?.run("show interface", true, &mut |piece| {
        text.push_str(piece);
        Ok(())
    })?;
    let rows: Value = match outcome {
        Outcome::Done => serde_json::from_str(&text).map_err(io::Error::other)?,
        _ => Value::Null,
    };
    let rows = rows.as_array().into_iter().flatten();
    let name = |row: &Value| row["name"].as_str().map(str::to_owned);
    Ok(rows.filter_map(name).filter(|name| name != "local0").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_usable_and_all_of_the_list_are_taken() {
        options().debug_assert();
        for [name, ..] in CONFIG {
            assert!(options().get_arguments().any(|arg| arg.get_long() == Some(name)), "{name}");
        }
    }
}
