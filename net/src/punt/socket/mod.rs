//! Punt sockets: packets to datagram sockets of other programs, and back from them.
//!
//! The router has one socket, named in the configuration (`punt { socket PATH }`). It sends from it
//! to the sockets that programs registered; received data is sent on or routed. Each datagram is a
//! packet after a [`Descriptor`].

mod rx;
#[cfg(test)]
mod tests;
mod tx;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::feature::Refused;
use control::socket::SocketFile;
use graph::{Buffer, InputState, NodeIndex};
use infra::rcu::Shared;
use wire::{IpVersion, Protocol};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Port;
use super::reasons::Reason;
use crate::ip::{V4, V6, Version};
use crate::router::{Router, refuse};

pub use rx::SocketRx;
pub use tx::ToSocket;

/// The version of [`Descriptor`] that there is.
pub const HEADER_VERSION: u32 = 1;
/// The longest packet: 64 KB of IP with what is in front.
const LONGEST: usize = 65_536 + 256;

/// Header in front of each packet on a socket, in the byte order of the machine.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C, packed)]
pub struct Descriptor {
    /// The receive interface of a packet or, from a program, its transmit interface or the one it
    /// is routed as received on.
    pub interface: u32,
    /// One of the constants below; 0 in what is sent to programs.
    pub action: u32,
}

impl Descriptor {
    /// Send it on the interface as it is.
    pub const L2: u32 = 0;
    /// Route it as an IPv4 packet.
    pub const IP4: u32 = 1;
    /// Route it as an IPv6 packet.
    pub const IP6: u32 = 2;
}

/// The configuration of punt (`punt { … }`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The path of the router's socket.
    pub socket: Option<PathBuf>,
}

/// Room for one packet in one piece.
#[derive(Clone)]
pub(super) struct PacketBuffer(Box<[u8]>);

impl PacketBuffer {
    pub fn new() -> Self {
        Self(vec![0; LONGEST].into_boxed_slice())
    }
    /// The bytes of a packet, `skip` bytes from the start; `None` when there are too many.
    pub fn gather(&mut self, p: &Buffer<'_>, skip: usize) -> Option<&mut [u8]> {
        let mut end = skip;
        for segment in p.segments() {
            self.0.get_mut(end..end + segment.len())?.copy_from_slice(segment);
            end += segment.len();
        }
        self.0.get_mut(..end)
    }
}

/// The kind of packets that a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Punted {
    /// A UDP port, or a type of ICMPv6.
    Port(Port),
    /// Packets of a protocol for this router.
    Protocol {
        /// Of IPv6 instead of IPv4.
        version: IpVersion,
        /// Protocol.
        protocol: Protocol,
    },
    /// Packets that features punt for a reason.
    Reason(Reason),
}

/// Reasons why there is no socket for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The configuration names no socket of the router's.
    NotConfigured,
    /// The header is to be of a version that there is not.
    Version(u32),
    /// Neither UDP nor ICMPv6.
    Protocol,
    /// All ports, but it goes by port.
    NoPort,
    /// Not a name of a socket.
    Path(PathBuf),
    /// There is no such reason.
    NoReason,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConfigured => f.write_str("socket is not configured"),
            Self::Version(v) => write!(f, "no packet descriptor of version {v}"),
            Self::Protocol => f.write_str("only UDP ports and ICMPv6 types have punt sockets"),
            Self::NoPort => f.write_str("UDP port number required"),
            Self::Path(path) => write!(f, "{}: no name of a socket", path.display()),
            Self::NoReason => f.write_str("no such punt reason"),
        }
    }
}
impl std::error::Error for Error {}

/// The program that gets the packets of one kind.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its packets.
    pub what: Punted,
    /// Path of the client's socket.
    pub path: PathBuf,
}

/// A number of a dispatching node, and the node that is to get it.
type Place = (&'static str, u16, &'static str);

/// Sockets of programs, for nodes.
type Table = HashMap<Punted, SocketAddr>;

/// The state of control.
struct Sockets {
    /// The router's, if there is one.
    server: Option<Server>,
    /// By place; a place is used again when it is free.
    clients: Vec<Option<Client>>,
    table: Shared<Table>,
}

/// The router's socket.
struct Server {
    socket: Arc<UnixDatagram>,
    path: PathBuf,
    /// It in the file system; `None` in a trial, whose socket has no name.
    _file: Option<SocketFile>,
    node: NodeIndex,
    /// The thread that receives, once there are threads.
    thread: Option<usize>,
}

impl Router {
    /// The socket for packets from programs, if the configuration names one.
    pub fn punt_socket(&self) -> Option<&Path> {
        self.state::<Sockets>()?.server.as_ref().map(|server| server.path.as_path())
    }
    /// Registrations of programs.
    pub fn punt_clients(&self) -> impl Iterator<Item = &Client> {
        self.state::<Sockets>().into_iter().flat_map(|s| s.clients.iter().flatten())
    }
    /// Sends packets to the socket at `path`, which need not exist yet, in place of another one.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn register_punt_socket(
        &mut self,
        what: Punted,
        version: u32,
        path: &Path,
    ) -> Result<(), Error> {
        if self.punt_socket().is_none() {
            return Err(Error::NotConfigured);
        }
        if version != HEADER_VERSION {
            return Err(Error::Version(version));
        }
        let address = SocketAddr::from_pathname(path).ok().filter(|a| !a.is_unnamed());
        let address = address.ok_or_else(|| Error::Path(path.to_owned()))?;
        let places = places(what)?;
        self.divert_punted(what, places, true)?;
        let sockets = self.own_mut::<Sockets>();
        let mut table = sockets.table.current().clone();
        table.insert(what, address);
        sockets.table.publish(table);
        let known = sockets.clients.iter_mut().flatten().find(|c| c.what == what);
        let path = path.to_owned();
        if let Some(client) = known {
            client.path = path;
            return Ok(());
        }
        let client = Some(Client { what, path });
        match sockets.clients.iter_mut().find(|place| place.is_none()) {
            Some(free) => *free = client,
            None => sockets.clients.push(client),
        }
        Ok(())
    }
    /// Returns packets to their other handlers. Unregistered packets are unchanged.
    ///
    /// # Errors
    /// What never could be registered.
    pub fn deregister_punt_socket(&mut self, what: Punted) -> Result<(), Error> {
        let places = places(what)?;
        if matches!(what, Punted::Reason(reason) if !self.punt_reasons().any(|r| r.0 == reason)) {
            return Err(Error::NoReason);
        }
        let sockets = self.own_mut::<Sockets>();
        let is_it = |place: &&mut Option<Client>| place.as_ref().is_some_and(|c| c.what == what);
        let Some(place) = sockets.clients.iter_mut().find(is_it) else { return Ok(()) };
        *place = None;
        let mut table = sockets.table.current().clone();
        table.remove(&what);
        sockets.table.publish(table);
        self.divert_punted(what, places, false)
    }
    /// Gives the nodes of this module a program's packets, or stops.
    fn divert_punted(&mut self, what: Punted, at: Vec<Place>, on: bool) -> Result<(), Error> {
        if let Punted::Reason(reason) = what {
            let is_there = self.set_takers(reason, |takers| takers.socket = on);
            return if is_there { Ok(()) } else { Err(Error::NoReason) };
        }
        for (at, number, to) in at {
            self.divert(at, number, on.then_some(to)).expect("both nodes registered");
        }
        Ok(())
    }
}

/// Numbers of dispatching nodes for these packets, and the node that they lead to.
fn places(what: Punted) -> Result<Vec<Place>, Error> {
    fn of<V: Version>(protocol: Protocol, to: &'static str) -> Vec<Place> {
        let nodes = [V::NODES.receive, V::NODES.local_end, V::NODES.local];
        nodes.map(|at| (at, protocol.0.into(), to)).to_vec()
    }
    Ok(match what {
        Punted::Port(Port { version, protocol: Protocol::UDP, port }) => {
            let (at, to) = match version {
                IpVersion::V4 => (V4::NODES.udp_lookup, "ip4-udp-punt-socket"),
                IpVersion::V6 => (V6::NODES.udp_lookup, "ip6-udp-punt-socket"),
            };
            vec![(at, port.ok_or(Error::NoPort)?, to)]
        }
        Punted::Port(Port { version: IpVersion::V6, protocol: Protocol::ICMP6, port }) => {
            let kind = port.filter(|kind| *kind <= u16::from(u8::MAX)).ok_or(Error::NoPort)?;
            vec![(V6::NODES.icmp_input, kind, "ip6-icmp-punt-socket")]
        }
        Punted::Port(_) => return Err(Error::Protocol),
        Punted::Protocol { version, protocol } => match version {
            IpVersion::V4 => of::<V4>(protocol, "ip4-proto-punt-socket"),
            IpVersion::V6 => of::<V6>(protocol, "ip6-proto-punt-socket"),
        },
        Punted::Reason(_) => Vec::new(),
    })
}

/// Adds the nodes and opens the router's socket.
pub(super) fn register(router: &mut Router) -> Result<(), Refused> {
    let path = router.state::<Settings>().and_then(|settings| settings.socket.clone());
    let opened = path.map(|path| {
        let named = |e: io::Error| refuse(format_args!("punt socket {}: {e}", path.display()));
        if router.is_trial() {
            // The socket is that of the router itself.
            let socket = UnixDatagram::unbound().map_err(named)?;
            return Ok((Arc::new(socket), PathBuf::new(), None));
        }
        let (socket, file) = open(&path).map_err(named)?;
        Ok((Arc::new(socket), path, Some(file)))
    });
    let opened = opened.transpose()?;
    let table = Shared::new(Table::new());
    let socket = opened.as_ref().map(|(socket, ..)| Arc::clone(socket));
    tx::add(router, socket.as_ref(), &table).map_err(refuse)?;
    let rx = SocketRx::new(socket, router.interfaces.ports());
    let node = router.engine.add_input(rx).map_err(refuse)?;
    let server = opened.map(|(socket, path, file)| {
        let thread = None;
        Server { socket, path, _file: file, node, thread }
    });
    if server.is_some() {
        router.after(0.0, |router, _| receive_somewhere(router), 0);
    }
    router.on_threads.push(serve_on);
    router.insert(Sockets { server, clients: Vec::new(), table });
    Ok(())
}

/// A socket at a path, where only the socket of an earlier router may be in the way. It is bound to
/// that path, as programs answer to the address that packets come from.
fn open(path: &Path) -> io::Result<(UnixDatagram, SocketFile)> {
    if UnixDatagram::unbound().and_then(|probe| probe.connect(path)).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    if std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    let socket = UnixDatagram::bind(path)?;
    let file = SocketFile::bound(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o770))?;
    socket.set_nonblocking(true)?;
    Ok((socket, file))
}

/// Makes the first thread receive.
fn receive_somewhere(router: &mut Router) {
    let threads = router.engine.data_threads();
    if let Err(why) = serve_on(router, &threads) {
        router.log.class("punt", "socket").warn(why);
    }
}

/// Makes the first of some threads receive.
fn serve_on(router: &mut Router, threads: &Range<usize>) -> Result<(), String> {
    let served = router.with(|sockets: &mut Sockets, router| {
        let Some(server) = &mut sockets.server else { return Ok(()) };
        let fd = server.socket.as_fd();
        if server.thread.is_some_and(|thread| threads.contains(&thread)) {
            return Ok(());
        }
        if let Some(old) = server.thread.take() {
            router.engine.unwatch(old, fd)?;
            router.engine.set_input_state(old, server.node, InputState::Disabled);
        }
        router.engine.watch(threads.start, server.node, fd)?;
        router.engine.set_input_state(threads.start, server.node, InputState::Interrupt);
        server.thread = Some(threads.start);
        Ok(())
    });
    let failed = |e: io::Error| format!("punt socket: {}", control::cli::io_text(&e));
    served.unwrap_or(Ok(())).map_err(failed)
}
