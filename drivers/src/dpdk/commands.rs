//! `create interface dpdk`, `delete interface dpdk`, `show dpdk`.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Print, Task};
use control::configuration::Lines;
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::interface::{self, Dpdks, Wanted};
use crate::host::background::make_named;

/// Create an interface on a DPDK device; virtual devices are created as well.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create interface dpdk")]
#[undo("delete interface dpdk {name}")]
#[stage(Interfaces)]
struct Create {
    /// PCI address, or a virtual device with options: net_null0,size=64
    #[positional]
    device: String,
    /// interface name; by default the device name
    name: Option<String>,
    /// receive queues; default 1
    num_rx_queues: Option<u16>,
    /// transmit queues; default one per thread
    num_tx_queues: Option<u16>,
    /// receive ring size in packets
    num_rx_desc: Option<u16>,
    /// transmit ring size in packets
    num_tx_desc: Option<u16>,
}

/// Delete an interface on a DPDK device.
#[derive(Command)]
#[command("delete interface dpdk")]
struct Delete {
    /// name
    #[positional]
    interface: InterfaceIndex,
}

/// Show the DPDK version and its EAL arguments.
#[derive(Command)]
#[command("show dpdk version")]
struct ShowVersion;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(create).command(delete).command(show_version);
}

impl From<interface::Error> for Error {
    fn from(e: interface::Error) -> Self {
        Self::new(e.to_string())
    }
}

fn create(router: &mut Router, c: Create) -> Result<Box<dyn Task<Router>>, Error> {
    for (word, n) in [
        ("num-rx-queues", c.num_rx_queues),
        ("num-tx-queues", c.num_tx_queues),
        ("num-rx-desc", c.num_rx_desc),
        ("num-tx-desc", c.num_tx_desc),
    ] {
        if n == Some(0) {
            return Err(Error::new(format!("{word} must not be 0")));
        }
    }
    let wanted = Wanted {
        device: c.device,
        name: c.name,
        queues: (c.num_rx_queues.unwrap_or(0), c.num_tx_queues.unwrap_or(0)),
        rings: (c.num_rx_desc.unwrap_or(0), c.num_tx_desc.unwrap_or(0)),
    };
    Ok(Box::new(make_named::<Dpdks>(router, (wanted, true))?))
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let gone = router.with(|all: &mut Dpdks, router| all.delete(router, c.interface));
    Ok(gone.ok_or("not available")??)
}

/// DPDK as it is started.
#[derive(Serialize)]
struct Version {
    version: String,
    arguments: Vec<String>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "DPDK Version:             {}", self.version)?;
        write!(f, "DPDK EAL init args:       {}", self.arguments.join(" "))
    }
}

fn show_version(router: &mut Router, _: ShowVersion) -> Result<Output, Error> {
    let all = router.own::<Dpdks>();
    let version = all.version().unwrap_or_else(|| "not started".to_owned());
    let args = all.arguments().map_err(Error::new)?;
    Ok(Output::of(Version { version, arguments: args[1..].to_vec() }))
}

/// The interfaces that commands made.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let given = |n: u16| Some(n).filter(|n| *n > 0);
    for entry in router.own::<Dpdks>().list.iter().filter(|entry| entry.is_configured) {
        let wanted = &entry.wanted;
        let create = Create {
            device: wanted.device.clone(),
            name: Some(router.interfaces.name(entry.index.0).to_owned()),
            num_rx_queues: given(wanted.queues.0),
            num_tx_queues: given(wanted.queues.1),
            num_rx_desc: given(wanted.rings.0),
            num_tx_desc: given(wanted.rings.1),
        };
        lines.push_at(entry.index.0, &create);
    }
}
