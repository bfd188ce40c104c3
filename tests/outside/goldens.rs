//! Decisions made in many places and reviewed in one: compared with the files in `docs/reference`.
//!
//! `FERROVIA_BLESS=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use graph::CounterText;
use net::Assembly;

fn compare(name: &str, now: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference")).join(name);
    if std::env::var_os("FERROVIA_BLESS").is_some() {
        fs::write(&path, now).unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        reviewed == now,
        "docs/reference/{name} is not what there is now (FERROVIA_BLESS=1 writes it):\n{now}"
    );
}

#[test]
fn the_order_of_features_is_as_reviewed() {
    let Assembly { mut router, cli, .. } = crate::parts();
    compare("arcs.txt", &cli.run(&mut router, "show features").text());
}

#[test]
fn the_stanzas_of_the_configuration_are_listed() {
    let mut text = "# startup.conf

The stanzas of the start-up configuration (`ferrovia -c FILE`, or the same in words on the command line).
`#` begins a comment. An unknown stanza and an unknown word are errors, with their line. Words of the original
that have no effect here are accepted; `ferrovia --check`, the log and `show health` name each of them. They are
in [the last section](#words-without-effect). Made by a test from what is read (`FERROVIA_BLESS=1` writes it anew).
"
    .to_owned();
    for (stanza, about, words) in control::config::REFERENCE {
        write!(text, "\n## {stanza}\n\n{about}\n\n").unwrap();
        for (usage, about) in *words {
            writeln!(text, "- `{usage}`: {about}").unwrap();
        }
    }
    text += "\n## Words without effect\n\nAccepted, and why nothing follows from them. Lines with `(!)` are about things \
             that the router does not do\nor does by other means; the others ask for what is so anyway.\n";
    let mut last = "";
    for (stanza, weight, why, words) in control::config::IGNORED {
        if last != *stanza {
            write!(text, "\n### {stanza}\n\n").unwrap();
        }
        last = stanza;
        let words: Vec<_> = words.iter().map(|usage| format!("`{usage}`")).collect();
        let words = if words.is_empty() { "the stanza".to_owned() } else { words.join(", ") };
        writeln!(text, "- {words}: {why}{}", mark(*weight)).unwrap();
    }
    text += "\n### Stanzas of other versions\n\nWith any words in them.\n\n";
    for (names, weight, why) in control::config::FORMER {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(text, "- {}: {why}{}", names.join(", "), mark(*weight)).unwrap();
    }
    compare("startup-conf.md", &text);
}

/// The sign of words whose loss may matter.
fn mark(weight: control::config::Weight) -> &'static str {
    if weight == control::config::Weight::Loss { " (!)" } else { "" }
}

#[test]
fn nodes_and_their_counters_are_listed() {
    let Assembly { router, .. } = crate::parts();
    let mut counters: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (_, node, counter, _) in router.engine.counters() {
        counters.entry(node).or_default().push(counter);
    }
    let mut names: BTreeSet<_> = router.engine.node_names().map(|(_, name)| name).collect();
    names.extend(counters.keys());
    let mut text = "# Nodes and their counters

All nodes of a router without interfaces, and what they count beside packets: name in the statistics
(`/err/NODE/NAME`), text in `show errors`, severity. An interface adds `NAME-output` and `NAME-tx`.
`show node NAME` says where a node's packets go on, [arcs.txt](arcs.txt) in which order features
come. Made by a test (`FERROVIA_BLESS=1` writes it anew).
"
    .to_owned();
    for name in names {
        write!(text, "\n## {name}\n").unwrap();
        let counters = counters.get(name).map_or(&[][..], |all| all);
        for (at, counter) in counters.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let CounterText { name, text: about, severity } = counter;
            writeln!(text, "{gap}- `{name}`: {about} ({severity})").unwrap();
        }
    }
    compare("nodes.md", &text);
}

#[test]
fn the_messages_of_the_binary_api_are_listed() {
    let Assembly { router, mut api, .. } = crate::parts();
    api.finish(&router.clients).unwrap();
    let mut text = "# Messages of the binary API

By module: name, CRC, fields without those of every message (number, client, context). Descriptions in
full are in `*.api.json` files; [clients.md](../clients.md) says how programs use them. Made by a test
(`FERROVIA_BLESS=1` writes it anew).
"
    .to_owned();
    for file in control::api::files(&api) {
        let module = file.json["module"].as_str().unwrap();
        write!(text, "\n## {module}\n\n").unwrap();
        for message in file.json["messages"].as_array().unwrap() {
            let mut parts = message.as_array().unwrap().clone();
            let meta = parts.pop().unwrap();
            let known = ["_vl_msg_id", "client_index", "context"];
            let fields = parts[1..].iter().filter(|f| !known.iter().any(|k| f[1] == **k));
            let fields: Vec<_> = fields.map(|f| format!("`{}`", f[1].as_str().unwrap())).collect();
            let about = meta["comment"].as_str().unwrap_or_default();
            let (name, crc) = (parts[0].as_str().unwrap(), meta["crc"].as_str().unwrap());
            let colon = if about.is_empty() { "" } else { ": " };
            write!(text, "- `{name}` {crc}{colon}{about}").unwrap();
            if !fields.is_empty() {
                write!(text, " ({})", fields.join(", ")).unwrap();
            }
            text.push('\n');
        }
    }
    compare("messages.md", &text);
}
