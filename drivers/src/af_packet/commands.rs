//! `create host-interface`, `delete host-interface`, `show af-packet`.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Print, Task, Word};
use control::configuration::Lines;
use net::interface::Offloads;
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::MacAddr;

use super::interface::{HARDWARE, HostInterface, HostInterfaces, MAX_QUEUES, Parameters};
use super::{link, ring};
use crate::host;
use crate::host::background::{self, Pending};

/// Create an interface on a host device.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create host-interface")]
#[undo("delete host-interface name {name}")]
#[stage(Interfaces)]
struct Create {
    /// accepted; there is only one version
    #[keyword("v2")]
    _v2: bool,
    /// accepted; the slot size is fixed
    #[keyword("rx-size")]
    _rx_size: Option<u32>,
    /// accepted; the slot size is fixed
    #[keyword("tx-size")]
    _tx_size: Option<u32>,
    /// accepted; the block size is fixed
    #[keyword("rx-per-block")]
    _rx_per_block: Option<u32>,
    /// accepted; the block size is fixed
    #[keyword("tx-per-block")]
    _tx_per_block: Option<u32>,
    /// device name
    #[values("device")]
    name: Word,
    /// number of receive sockets
    #[keyword("num-rx-queues")]
    rx_queues: Option<usize>,
    /// number of transmit sockets
    #[keyword("num-tx-queues")]
    tx_queues: Option<usize>,
    /// MAC address; by default one that is stable across restarts
    #[keyword("hw-addr")]
    mac: Option<MacAddr>,
    /// `ethernet`, or `ip` for devices without a layer 2 header
    #[values("ethernet|ip")]
    mode: Option<Word>,
    /// transmit through the device's queueing discipline
    #[keyword("qdisc-bypass-disable")]
    uses_qdisc: bool,
    /// compute checksums and segment large packets in the router
    #[keyword("cksum-gso-disable")]
    without_offloads: bool,
}

/// Delete an interface on a host device.
#[derive(Command)]
#[command("delete host-interface")]
struct Delete {
    /// device name
    #[values("device")]
    name: Word,
}

/// Set whether the host or the router completes checksums.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set host-interface l4-cksum-offload")]
#[undo("=set host-interface l4-cksum-offload {1} on")]
struct SetChecksum {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the host
    on: bool,
    /// the router
    off: bool,
}

/// Set whether transmitted packets bypass the device's queueing discipline.
#[derive(Command)]
#[command("set host-interface qdisc-bypass")]
struct SetBypass {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// bypass it
    enable: bool,
    /// do not bypass it
    disable: bool,
}

/// Show interfaces on host devices.
#[derive(Command)]
#[command("show af-packet")]
struct Show {}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("device", |_| host::names_in("/sys/class/net"));
    cli.task(create).command(delete).command(set_checksum).command(set_bypass).command(show);
}

fn create(router: &mut Router, c: Create) -> Result<Box<dyn Task<Router>>, Error> {
    let queues = |n: Option<usize>| match n {
        None => Ok(1),
        Some(n) if (1..=MAX_QUEUES).contains(&n) => Ok(n),
        Some(n) => Err(Error::new(format!("queues must be 1 to {MAX_QUEUES}, not {n}"))),
    };
    let is_ip = match c.mode.as_deref() {
        None | Some("ethernet") => false,
        Some("ip") => true,
        Some(other) => return Err(Error::new(format!("unknown mode `{other}'"))),
    };
    if c.mac.is_some_and(|m| m.is_multicast() || m == MacAddr::ZERO) {
        return Err("hw-addr is not a unicast MAC address".into());
    }
    let wanted = Parameters {
        device: c.name.to_string(),
        rx_queues: queues(c.rx_queues)?,
        tx_queues: queues(c.tx_queues)?,
        mac: c.mac,
        is_ip,
        bypasses_qdisc: !c.uses_qdisc,
        offloads: !c.without_offloads,
    };
    let name = |router: &Router, made: InterfaceIndex| router.interfaces.name(made.0).to_owned();
    Ok(Box::new(make::<_, Error>(router, wanted, name)?))
}

/// Makes an interface; `answer` gets it, or an error as `E`.
pub(super) fn make<R: 'static, E: From<super::interface::Error> + 'static>(
    router: &mut Router,
    wanted: Parameters,
    answer: fn(&Router, InterfaceIndex) -> R,
) -> Result<Pending<Result<R, E>>, E> {
    background::make::<HostInterfaces, _, _>(router, wanted, move |router, made| {
        link::begin(router);
        Ok(answer(router, made?))
    })
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let gone = router.with(|all: &mut HostInterfaces, router| all.delete(router, &c.name));
    Ok(gone.ok_or("not available")??)
}

/// Whether an interface is a `host-X`.
fn check(router: &Router, index: InterfaceIndex) -> Result<(), Error> {
    match router.interfaces.at(index) {
        Some(i) if i.hardware == HARDWARE && !i.is_sub() => Ok(()),
        _ => {
            Err(Error::new(format!("{} is not a host-interface", router.interfaces.name(index.0))))
        }
    }
}

/// The interfaces there are, and who completes checksums of theirs.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for host in &router.own::<HostInterfaces>().list {
        let Some(i) = router.interfaces.at(host.index) else { continue };
        let wanted = &host.wanted;
        let queues = |n: usize| Some(n).filter(|n| *n != 1);
        lines.push_at(
            i.index.0,
            &Create {
                _v2: false,
                _rx_size: None,
                _tx_size: None,
                _rx_per_block: None,
                _tx_per_block: None,
                name: wanted.device.as_str().into(),
                rx_queues: queues(wanted.rx_queues),
                tx_queues: queues(wanted.tx_queues),
                mac: wanted.mac,
                mode: wanted.is_ip.then(|| "ip".into()),
                uses_qdisc: !wanted.bypasses_qdisc,
                without_offloads: !wanted.offloads,
            },
        );
        let (interface, Offloads { checksum, gso, .. }) = (i.index, i.offloads);
        if wanted.offloads && !gso {
            lines.push(&SetChecksum { interface, on: false, off: true });
        }
        if checksum && !gso {
            lines.push(&SetChecksum { interface, on: true, off: false });
        }
    }
}

fn set_checksum(router: &mut Router, c: SetChecksum) -> Result<(), Error> {
    if c.on == c.off {
        return Err("expected on or off".into());
    }
    let index = c.interface;
    check(router, index)?;
    let gso = c.on && router.interfaces.at(index).is_some_and(|i| i.offloads.gso);
    router.interfaces.set_offloads(index, Offloads { checksum: c.on, gso, tunnels: false });
    Ok(())
}

fn set_bypass(router: &mut Router, c: SetBypass) -> Result<(), Error> {
    if c.enable == c.disable {
        return Err("expected enable or disable".into());
    }
    let index = c.interface;
    check(router, index)?;
    let all = router.state_mut::<HostInterfaces>().ok_or("not available")?;
    let host = all.list.iter_mut().find(|i| i.index == index);
    let host = host.ok_or("not available")?;
    let mut sockets = host.senders.current().iter();
    let done = sockets.try_for_each(|s| ring::set_qdisc_bypass(s, c.enable));
    done.map_err(|e| Error::new(control::cli::io_text(&e)))?;
    host.wanted.bypasses_qdisc = c.enable;
    Ok(())
}

fn show(router: &mut Router, _: Show) -> Result<Output, Error> {
    let all = router.state::<HostInterfaces>().map_or(&[][..], |all| &all.list);
    let row = |i: &HostInterface| Row {
        interface: router.interfaces.name(i.index.0).to_owned(),
        device: i.wanted.device.clone(),
        rx_threads: i.serving.threads(),
        tx_queues: i.senders.current().len(),
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
