//! Buffers by node: `set buffer traces`, `show buffer traces`, `clear buffer traces`.
#![forbid(unsafe_code)]

use graph::{Handled, Monitored};
use net::prelude::*;

/// Buffers by node.
pub const FEATURE: Feature = Feature {
    name: "bufmon",
    about: "Buffers monitoring plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["drops"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Enable or disable buffer accounting by node
#[derive(Command, Print, Debug, PartialEq)]
#[command("set buffer traces")]
#[stage(Objects)]
struct Set {
    /// enable
    on: bool,
    /// disable
    off: bool,
}

/// Show buffers held by each node
#[derive(Command)]
#[command("show buffer traces")]
struct Show {
    /// whether buffers are counted
    status: bool,
    /// all nodes
    verbose: bool,
}

/// Clear buffer accounting
#[derive(Command)]
#[command("clear buffer traces")]
struct Clear;

/// A node.
#[derive(Serialize)]
struct Row {
    node: String,
    #[serde(flatten)]
    handled: Handled,
    buffered: i64,
}

#[derive(Serialize)]
struct Shown {
    is_on: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<Row>,
    #[serde(skip)]
    is_status: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_status {
            return writeln!(f, "buffers tracing is {}", if self.is_on { "on" } else { "off" });
        }
        let heads = ["Allocated", "Freed", "In", "Out", "Buffered"];
        let [taken, returned, received, sent, buffered] = heads;
        write!(f, "{:<30}{taken:>14}{returned:>14}{received:>14}", "Node")?;
        writeln!(f, "{sent:>14}{buffered:>14}")?;
        for Row { node, handled, buffered } in &self.nodes {
            let Handled { taken, returned, received, sent, .. } = handled;
            write!(f, "{node:<30} {taken:>13} {returned:>13} {received:>13}")?;
            writeln!(f, " {sent:>13} {buffered:>13}")?;
        }
        Ok(())
    }
}

/// Whether buffers are counted.
pub fn is_on(router: &Router) -> bool {
    router.engine.is_monitored(Monitored::Buffers)
}

/// Buffers that remained with a node: those it was given or took, less those that it passed on or
/// gave back. Negative where it gives back what it was left before.
pub fn buffered(handled: &Handled) -> i64 {
    let came = handled.received + handled.taken;
    came.wrapping_sub(handled.sent + handled.returned).cast_signed()
}

fn show(router: &mut Router, c: &Show) -> Result<Shown, Error> {
    let is_on = is_on(router);
    if c.status {
        return Ok(Shown { is_on, nodes: Vec::new(), is_status: true });
    }
    let handled = router.engine.handled().map_err(net::engine::no_answer)?;
    let row = |(node, handled): (_, Handled)| {
        let buffered = buffered(&handled);
        let is_idle = handled.received + handled.sent + handled.taken + handled.returned == 0;
        let is_shown = if c.verbose { !is_idle } else { buffered != 0 };
        let node = router.engine.name_of(node).to_owned();
        is_shown.then_some(Row { node, handled, buffered })
    };
    let nodes = handled.into_iter().filter_map(row).collect();
    Ok(Shown { is_on, nodes, is_status: false })
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if is_on(router) {
        lines.push(&Set { on: true, off: false });
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    commands(&mut parts.cli);
    Ok(())
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        if c.on == c.off {
            return Err(Error::new("expected on or off"));
        }
        router.engine.monitor(Monitored::Buffers, c.on);
        Ok(())
    });
    cli.command(|router: &mut Router, c: Show| Ok(Output::of(show(router, &c)?)));
    cli.command(|router: &mut Router, _: Clear| {
        router.engine.clear_handled(Monitored::Buffers);
        Ok(())
    });
}
