//! `create memif socket`, `create interface memif` and their opposites.
#![forbid(unsafe_code)]

use control::Secret;
use control::cli::{Cli, Command, Error, Print, Word};
use control::configuration::Lines;
use net::Router;
use wire::MacAddr;

use super::interface::{self, DEFAULT_SOCKET, Memif, Memifs, Wanted};
use crate::host::Which;

/// Create a memif socket.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create memif socket")]
#[undo("delete memif socket id {id}")]
#[stage(Interfaces)]
struct CreateSocket {
    /// socket ID; by default the lowest free one
    id: Option<u32>,
    /// path of the socket; relative to the runtime directory, or @ and an abstract name
    filename: String,
}

/// Delete a memif socket.
#[derive(Command)]
#[command("delete memif socket")]
struct DeleteSocket {
    /// index
    id: u32,
}

/// Create a memif interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create interface memif")]
#[undo("delete interface memif memif{socket-id}/{id}|delete interface memif memif0/{id}")]
#[stage(Interfaces)]
struct Create {
    /// interface ID on the socket; default 0
    id: Option<u32>,
    /// socket ID; default 0
    socket_id: Option<u32>,
    /// ring size in packets, a power of 2; the slave decides
    ring_size: Option<u32>,
    /// slot size in bytes; the slave decides
    buffer_size: Option<u16>,
    /// MAC address; by default one that is stable across restarts
    hw_addr: Option<MacAddr>,
    /// listen for the peer
    master: bool,
    /// connect to the peer
    slave: bool,
    /// number of receive rings; the slave decides
    rx_queues: Option<u8>,
    /// number of transmit rings; the slave decides
    tx_queues: Option<u8>,
    /// `ethernet`, or `ip` for packets without an Ethernet header
    #[values("ethernet|ip")]
    mode: Option<Word>,
    /// shared secret
    secret: Option<Secret<String>>,
    /// accepted: packets are always copied
    no_zero_copy: bool,
    /// accepted: the CPU copies packets
    #[keyword("use-dma")]
    _use_dma: bool,
}

/// Delete a memif interface.
#[derive(Command)]
#[command("delete interface memif")]
struct Delete {
    #[flatten]
    which: Which,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create_socket).command(delete_socket).command(create).command(delete);
}

/// Lets `work` at the interfaces and the router.
pub(super) fn with<R>(
    router: &mut Router,
    work: impl FnOnce(&mut Memifs, &mut Router) -> Result<R, interface::Error>,
) -> Result<R, interface::Error> {
    let done = router.with(work);
    router.processes.signal(super::process::NAME, 0);
    done.unwrap_or_else(|| Err(interface::Error::Refused("not now".to_owned())))
}

fn create_socket(router: &mut Router, c: CreateSocket) -> Result<(), Error> {
    Ok(with(router, |all, _| all.add_socket(c.id, &c.filename)).map(drop)?)
}

fn delete_socket(router: &mut Router, c: DeleteSocket) -> Result<(), Error> {
    Ok(with(router, |all, _| all.delete_socket(c.id))?)
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    if c.master == c.slave {
        return Err("expected master or slave".into());
    }
    let is_ip = match c.mode.as_deref() {
        None | Some("ethernet") => false,
        Some("ip") => true,
        Some(other) => return Err(Error::new(format!("unknown mode `{other}'"))),
    };
    if c.ring_size == Some(0) || c.buffer_size == Some(0) {
        return Err("ring-size and buffer-size must not be 0".into());
    }
    let wanted = Wanted {
        id: c.id.unwrap_or(0),
        socket: c.socket_id.unwrap_or(DEFAULT_SOCKET),
        is_master: c.master,
        is_ip,
        secret: c.secret.unwrap_or_default().0,
        queues: (c.rx_queues.unwrap_or(1), c.tx_queues.unwrap_or(1)),
        ring_size: c.ring_size.unwrap_or(0),
        buffer_size: c.buffer_size.unwrap_or(0),
        mac: c.hw_addr,
        no_zero_copy: c.no_zero_copy,
    };
    let made = with(router, |all, router| all.create(router, wanted))?;
    Ok(router.interfaces.name(made.0).to_owned())
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    let index = c.which.index()?;
    Ok(with(router, |all, router| all.delete(router, index))?)
}

impl Create {
    fn of(memif: &Memif) -> Self {
        let wanted = &memif.wanted;
        let (rx, tx) = wanted.queues;
        let queues = |n: u8| Some(n).filter(|n| *n > 1);
        Self {
            id: Some(wanted.id),
            socket_id: Some(wanted.socket).filter(|id| *id != DEFAULT_SOCKET),
            ring_size: Some(wanted.ring_size).filter(|n| *n > 0),
            buffer_size: Some(wanted.buffer_size).filter(|n| *n > 0),
            hw_addr: wanted.mac,
            master: wanted.is_master,
            slave: !wanted.is_master,
            rx_queues: queues(rx),
            tx_queues: queues(tx),
            mode: wanted.is_ip.then(|| "ip".into()),
            secret: Some(Secret(wanted.secret.clone())).filter(|s| !s.is_empty()),
            no_zero_copy: wanted.no_zero_copy,
            _use_dma: false,
        }
    }
}

/// The sockets and interfaces there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = router.own::<Memifs>();
    for (id, socket) in all.sockets.iter().filter(|(id, _)| **id != DEFAULT_SOCKET) {
        lines.push(&CreateSocket { id: Some(*id), filename: socket.address.0.clone() });
    }
    for memif in &all.list {
        lines.push_at(memif.index.0, &Create::of(memif));
    }
}
