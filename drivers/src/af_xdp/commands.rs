//! `create interface af_xdp`, `delete interface af_xdp`.
#![forbid(unsafe_code)]

use control::cli::{Cli, Command, Error, Print, Task, Word};
use control::configuration::Lines;
use net::Router;

use super::interface::{ALL_QUEUES, AfXdp, AfXdps, Wanted};
use super::kernel::Mode;
use crate::host::Which;
use crate::host::background::make_named;

/// Create an AF_XDP interface on a host device.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create interface af_xdp")]
#[undo("delete interface af_xdp {name}")]
#[stage(Interfaces)]
struct Create {
    /// device name
    #[values("device")]
    host_if: Word,
    /// interface name; by default the device name and a number
    name: Option<String>,
    /// receive ring size, a power of 2
    rx_queue_size: Option<u16>,
    /// transmit ring size, a power of 2
    tx_queue_size: Option<u16>,
    /// number of device queues to use, or all
    num_rx_queues: Option<Word>,
    /// network namespace of the device: a name, a path or pid:<number>
    #[values("netns")]
    netns: Option<String>,
    /// require zero-copy mode; fails if the device cannot do it
    zero_copy: bool,
    /// copy mode
    no_zero_copy: bool,
    /// allow packets longer than one frame of the shared memory
    multi_buffer: bool,
    /// packets fit one frame of the shared memory; the default
    no_multi_buffer: bool,
    /// accepted, ignored
    #[keyword("no-syscall-lock")]
    _no_syscall_lock: bool,
    /// use the MAC address of the device
    mac_reuse: bool,
}

/// Delete an interface on a host device.
#[derive(Command)]
#[command("delete interface af_xdp")]
struct Delete {
    #[flatten]
    which: Which,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(create).command(delete);
}

fn create(router: &mut Router, c: Create) -> Result<Box<dyn Task<Router>>, Error> {
    if c.zero_copy && c.no_zero_copy || c.multi_buffer && c.no_multi_buffer {
        return Err("expected an option or its opposite, not both".into());
    }
    let queues = match c.num_rx_queues.as_deref() {
        None => 1,
        Some("all") => ALL_QUEUES,
        Some(n) => n.parse().map_err(|_| Error::new(format!("`{n}' is not a number of queues")))?,
    };
    let mode = match (c.zero_copy, c.no_zero_copy) {
        (true, _) => Mode::ZeroCopy,
        (_, true) => Mode::Copy,
        _ => Mode::Auto,
    };
    let wanted = Wanted {
        device: c.host_if.to_string(),
        name: c.name,
        queues,
        rings: (c.rx_queue_size.unwrap_or(0), c.tx_queue_size.unwrap_or(0)),
        mode,
        is_multi_buffer: c.multi_buffer,
        reuses_mac: c.mac_reuse,
        namespace: c.netns,
    };
    Ok(Box::new(make_named::<AfXdps>(router, wanted)?))
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let index = c.which.index()?;
    let gone = router.with(|all: &mut AfXdps, router| all.delete(router, index));
    Ok(gone.ok_or("not available")??)
}

/// The interfaces there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let size = |n: u16| Some(n).filter(|n| *n > 0);
    for AfXdp { wanted, index, .. } in &router.own::<AfXdps>().list {
        let queues = match wanted.queues {
            1 => None,
            ALL_QUEUES => Some("all".into()),
            n => Some(n.to_string().as_str().into()),
        };
        let create = Create {
            host_if: wanted.device.as_str().into(),
            // With a name of its own it gets the same one whatever was made before.
            name: Some(router.interfaces.name(index.0).to_owned()),
            rx_queue_size: size(wanted.rings.0),
            tx_queue_size: size(wanted.rings.1),
            num_rx_queues: queues,
            netns: wanted.namespace.clone(),
            zero_copy: wanted.mode == Mode::ZeroCopy,
            no_zero_copy: wanted.mode == Mode::Copy,
            multi_buffer: wanted.is_multi_buffer,
            no_multi_buffer: false,
            _no_syscall_lock: false,
            mac_reuse: wanted.reuses_mac,
        };
        lines.push_at(index.0, &create);
    }
}
