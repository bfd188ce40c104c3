//! `create host-interface`, `delete host-interface`, `show af-packet`.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Word};
use net::Router;
use net::interface::Offloads;
use serde::Serialize;
use wire::MacAddr;

use super::interface::{HARDWARE, HostInterface, HostInterfaces, MAX_QUEUES, Wanted};
use super::link;

/// Create an interface on a device of the host.
#[derive(Command)]
#[command("create host-interface")]
struct Create {
    /// accepted, there is one version
    #[keyword("v2")]
    _v2: bool,
    /// name of the device
    name: Word,
    /// sockets that receive
    #[keyword("num-rx-queues")]
    rx_queues: Option<usize>,
    /// sockets that send
    #[keyword("num-tx-queues")]
    tx_queues: Option<usize>,
    /// address of the interface; random if not given
    #[keyword("hw-addr")]
    mac: Option<MacAddr>,
    /// `ethernet`, or `ip` for devices without a layer 2 header
    mode: Option<Word>,
    /// send through the queueing discipline of the device
    #[keyword("qdisc-bypass-disable")]
    uses_qdisc: bool,
    /// complete checksums and cut big packets here
    #[keyword("cksum-gso-disable")]
    without_offloads: bool,
}

/// Delete an interface on a device of the host.
#[derive(Command)]
#[command("delete host-interface")]
struct Delete {
    /// name of the device
    name: Word,
}

/// Say whether the host completes checksums of what it is given, or the router.
#[derive(Command)]
#[command("set host-interface l4-cksum-offload")]
struct SetChecksum {
    /// interface
    #[positional]
    #[values("interface")]
    interface: Word,
    /// the host
    on: bool,
    /// the router
    off: bool,
}

/// Show the interfaces on devices of the host.
#[derive(Command)]
#[command("show af-packet")]
struct Show {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create).command(delete).command(set_checksum).command(show);
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    let queues = |n: Option<usize>| match n {
        None => Ok(1),
        Some(n) if (1..=MAX_QUEUES).contains(&n) => Ok(n),
        Some(n) => Err(Error::new(format!("{n} queues are not 1 to {MAX_QUEUES}"))),
    };
    let is_ip = match c.mode.as_deref() {
        None | Some("ethernet") => false,
        Some("ip") => true,
        Some(other) => return Err(Error::new(format!("unknown mode `{other}'"))),
    };
    if c.mac.is_some_and(|m| m.is_multicast() || m == MacAddr::ZERO) {
        return Err("hw-addr is no address of one interface".into());
    }
    let wanted = Wanted {
        device: c.name.to_string(),
        rx_queues: queues(c.rx_queues)?,
        tx_queues: queues(c.tx_queues)?,
        mac: c.mac,
        is_ip,
        bypasses_qdisc: !c.uses_qdisc,
        offloads: !c.without_offloads,
    };
    let made = router.with(|all: &mut HostInterfaces, router| all.create(router, &wanted));
    link::begin(router);
    made.ok_or("not available")?.map_err(|e| Error::new(e.to_string()))
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let gone = router.with(|all: &mut HostInterfaces, router| all.delete(router, &c.name));
    gone.ok_or("not available")?.map_err(|e| Error::new(e.to_string()))
}

fn set_checksum(router: &mut Router, c: SetChecksum) -> Result<(), Error> {
    if c.on == c.off {
        return Err("expected on or off".into());
    }
    let i =
        router.interfaces.named(&c.interface).ok_or_else(|| c.interface.unknown("interface"))?;
    if i.hardware != HARDWARE || i.is_sub() {
        return Err(Error::new(format!("{} is not a host-interface", i.name)));
    }
    let (index, gso) = (i.index, i.offloads.gso && c.on);
    router.set_offloads(index, Offloads { checksum: c.on, gso });
    Ok(())
}

fn show(router: &mut Router, _: Show) -> Result<Output, Error> {
    let all = router.state::<HostInterfaces>().map_or(&[][..], |all| &all.list);
    let row = |i: &HostInterface| Row {
        interface: router.interfaces.name(i.index.0).to_owned(),
        device: i.device.clone(),
        rx_threads: i.receivers.iter().map(|r| r.0).collect(),
        tx_queues: i.senders.len(),
        lost: i.lost,
    };
    Ok(Output::of(Table(all.iter().map(row).collect())))
}

#[derive(Serialize)]
struct Table(Vec<Row>);

#[derive(Serialize)]
struct Row {
    interface: String,
    device: String,
    /// Thread of each receive queue.
    rx_threads: Vec<usize>,
    tx_queues: usize,
    /// Packets the kernel had no room for.
    lost: u64,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.0 {
            writeln!(f, "{}", row.interface)?;
            writeln!(f, "  device {}", row.device)?;
            for (number, thread) in row.rx_threads.iter().enumerate() {
                writeln!(f, "  rx-queue {number} thread {thread}")?;
            }
            writeln!(f, "  tx-queues {}", row.tx_queues)?;
            writeln!(f, "  lost in kernel {}", row.lost)?;
        }
        Ok(())
    }
}
