//! `create netmap`, `delete netmap`.
#![forbid(unsafe_code)]

use control::cli::{Cli, Command, Error, Print, Task, Word};
use control::configuration::Lines;
use net::Router;
use wire::MacAddr;

use super::interface::{self, Netmaps, Wanted};
use crate::host::background::make_named;

/// Create an interface on a netmap port: a device, or a port of a VALE switch.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create netmap")]
#[undo("delete netmap name {name}")]
#[stage(Interfaces)]
struct Create {
    /// port name
    #[values("device")]
    name: Word,
    /// MAC address; by default the device's, or a stable one
    hw_addr: Option<MacAddr>,
    /// the port is an end of pipe 0 of this name, or of the pipe named in it
    pipe: bool,
    /// master end of the pipe; the default
    master: bool,
    /// slave end of the pipe
    slave: bool,
}

/// Delete an interface on a netmap port.
#[derive(Command)]
#[command("delete netmap")]
struct Delete {
    /// port name
    name: String,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(create).command(|router: &mut Router, c: Delete| Ok(delete(router, &c.name)?));
}

/// Name of the port that is an end of a pipe.
pub(super) fn end_of_pipe(name: &str, is_master: bool) -> String {
    match (name.contains(['{', '}']), is_master) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{name}{{0"),
        (false, false) => format!("{name}}}0"),
    }
}

fn create(router: &mut Router, c: Create) -> Result<Box<dyn Task<Router>>, Error> {
    if c.master && c.slave {
        return Err("expected `master' or `slave', not both".into());
    }
    let port = match c.pipe || c.master || c.slave {
        true => end_of_pipe(&c.name, !c.slave),
        false => c.name.to_string(),
    };
    Ok(Box::new(make_named::<Netmaps>(router, Wanted { port, mac: c.hw_addr })?))
}

/// Deletes the interface on a port.
pub(super) fn delete(router: &mut Router, port: &str) -> Result<(), interface::Error> {
    let gone = router.with(|all: &mut Netmaps, router| {
        let index = all.named(port)?;
        all.delete(router, index)
    });
    gone.unwrap_or(Err(interface::Error::Unknown))
}

/// The interfaces there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for netmap in &router.own::<Netmaps>().list {
        let create = Create {
            name: netmap.wanted.port.as_str().into(),
            hw_addr: netmap.wanted.mac,
            pipe: false,
            master: false,
            slave: false,
        };
        lines.push_at(netmap.index.0, &create);
    }
}
