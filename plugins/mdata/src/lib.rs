//! Changes of packet metadata by node: `buffer metadata tracking`, `show buffer metadata`.
#![forbid(unsafe_code)]

use graph::{FIELDS, Monitored};
use net::prelude::*;

/// Changes of packet metadata by node.
pub const FEATURE: Feature = Feature {
    name: "mdata",
    about: "Buffer metadata change tracker",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["drops"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Names of fields as clients know them, by ours.
const NAMES: [(&str, &str); 17] = [
    ("offset", "current_data"),
    ("len", "current_length"),
    ("flags", "flags"),
    ("rest", "total_length_not_including_first_buffer"),
    ("rx", "sw_if_index[VLIB_RX]"),
    ("tx", "sw_if_index[VLIB_TX]"),
    ("next", "next_buffer"),
    ("error", "error"),
    ("l2", "l2_hdr_offset"),
    ("l3", "l3_hdr_offset"),
    ("l4", "l4_hdr_offset"),
    ("gso_size", "gso_size"),
    ("flow_hash", "ip.flow_hash"),
    ("fib", "ip.fib_index"),
    ("trace", "trace_handle"),
    ("adjacency", "ip.adj_index"),
    ("payload", "opaque"),
];

/// Enable or disable tracking of buffer metadata changes
#[derive(Command, Print, Debug, PartialEq)]
#[command("buffer metadata tracking")]
#[stage(Objects)]
struct Track {
    /// enable tracking
    #[alias("enable")]
    on: bool,
    /// disable
    #[alias("disable")]
    off: bool,
}

/// Show the metadata fields that nodes changed
#[derive(Command)]
#[command("show buffer metadata")]
struct Show {
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

/// Enable or disable tracking of buffer metadata changes.
#[derive(Message)]
pub struct MdataEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
}

/// A node, and the fields it changed.
#[derive(Serialize)]
struct Row {
    node: String,
    packets: u64,
    changed: Vec<&'static str>,
}

#[derive(Serialize)]
struct Shown {
    is_on: bool,
    nodes: Vec<Row>,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nodes.is_empty() {
            let how = if self.is_on { "on" } else { "off" };
            return writeln!(f, "buffer metadata tracking is {how}: no packets were compared");
        }
        for Row { node, packets, changed } in &self.nodes {
            let fields = if changed.is_empty() { "none".to_owned() } else { changed.join(", ") };
            writeln!(f, "{node}: {fields} ({packets} packets)")?;
        }
        Ok(())
    }
}

/// Whether changes are tracked.
pub fn is_on(router: &Router) -> bool {
    router.engine.is_monitored(Monitored::Fields)
}

/// Enables or disables tracking; enabling discards earlier findings.
pub fn track(router: &mut Router, on: bool) {
    if on && !is_on(router) {
        router.engine.clear_handled(Monitored::Fields);
    }
    router.engine.monitor(Monitored::Fields, on);
}

fn show(router: &mut Router) -> Result<Shown, Error> {
    let handled = router.engine.handled().map_err(net::engine::no_answer)?;
    let names = |changed: u32| {
        let fields = FIELDS.iter().enumerate().filter(move |(bit, _)| changed >> bit & 1 == 1);
        let known = |field: &'static str| NAMES.iter().find(|(ours, _)| *ours == field);
        fields.map(move |(_, (field, _))| known(field).map_or(*field, |(_, name)| name)).collect()
    };
    let rows = handled.into_iter().filter(|(_, h)| h.compared > 0).map(|(node, h)| Row {
        node: router.engine.name_of(node).to_owned(),
        packets: h.compared,
        changed: names(h.changed),
    });
    Ok(Shown { is_on: is_on(router), nodes: rows.collect() })
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if is_on(router) {
        lines.push(&Track { on: true, off: false });
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Track| {
        if c.on == c.off {
            return Err(Error::new("expected on or off"));
        }
        track(router, c.on);
        Ok(())
    });
    cli.command(|router: &mut Router, _: Show| Ok(Output::of(show(router)?)));
}

fn messages(api: &mut Api<Router>) {
    api.plugin("mdata", "0.1.0").call(|router: &mut Router, m: MdataEnableDisable| {
        track(router, m.enable_disable);
        Ok(())
    });
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    commands(&mut parts.cli);
    messages(&mut parts.api);
    Ok(())
}
