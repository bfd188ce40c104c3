//! `ip4-udp-punt-socket` and its like: packets to the sockets of programs.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;

use graph::{Buffer, BuildError, Flags, Frame, Names, Node, Payload, Record};
use infra::rcu::{Reader, Shared};
use wire::{IpVersion, Protocol, icmp6, print, udp};
use zerocopy::{FromBytes, IntoBytes};

use super::{Descriptor, PacketBuffer, Port, Punted, Table};
use crate::ip::{V4, V6, Version};
use crate::punt::counted::Counted;
use crate::punt::reasons::Reason;
use crate::router::Router;

/// Kinds of packets that go to sockets.
pub trait Sort: Clone + Send + 'static {
    /// Node name.
    const NAME: &'static str;
    /// The metadata of punted packets.
    const INPUT: &'static str = "";
    /// Kind of a packet.
    fn what(p: &Buffer<'_>) -> Option<Punted>;
}

/// UDP ports.
#[derive(Clone)]
pub struct Udp<V>(PhantomData<V>);
/// Protocols.
#[derive(Clone)]
pub struct Proto<V>(PhantomData<V>);
/// Types of ICMPv6.
#[derive(Clone)]
pub struct Icmp6;
/// Reasons.
#[derive(Clone)]
pub struct Exception;

/// Names of the nodes of a version.
pub trait Named: Version {
    /// For UDP ports.
    const UDP: &'static str;
    /// For protocols.
    const PROTO: &'static str;
}

impl Named for V4 {
    const UDP: &'static str = "ip4-udp-punt-socket";
    const PROTO: &'static str = "ip4-proto-punt-socket";
}

impl Named for V6 {
    const UDP: &'static str = "ip6-udp-punt-socket";
    const PROTO: &'static str = "ip6-proto-punt-socket";
}

impl<V: Named> Sort for Udp<V> {
    const NAME: &'static str = V::UDP;
    fn what(p: &Buffer<'_>) -> Option<Punted> {
        let (header, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
        let port = Some(header.dst_port.get());
        Some(Punted::Port(Port { version: V::VERSION, protocol: Protocol::UDP, port }))
    }
}

impl<V: Named> Sort for Proto<V> {
    const NAME: &'static str = V::PROTO;
    fn what(p: &Buffer<'_>) -> Option<Punted> {
        let protocol = V::upper(p).ok()?.protocol;
        Some(Punted::Protocol { version: V::VERSION, protocol })
    }
}

impl Sort for Icmp6 {
    const NAME: &'static str = "ip6-icmp-punt-socket";
    fn what(p: &Buffer<'_>) -> Option<Punted> {
        let (header, _) = icmp6::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
        let port = Some(header.kind.0.into());
        Some(Punted::Port(Port { version: IpVersion::V6, protocol: Protocol::ICMP6, port }))
    }
}

impl Sort for Exception {
    const NAME: &'static str = "exception-punt-socket";
    const INPUT: &'static str = Reason::NAME;
    fn what(p: &Buffer<'_>) -> Option<Punted> {
        Some(Punted::Reason(p.payload()))
    }
}

/// Sends packets to the sockets of programs.
#[derive(Clone)]
pub struct ToSocket<S> {
    socket: Option<Arc<UnixDatagram>>,
    clients: Reader<Table>,
    room: PacketBuffer,
    sort: PhantomData<S>,
}

impl<S: Sort> Node for ToSocket<S> {
    const NAME: &'static str = S::NAME;
    type Next = Infallible;
    type Error = Counted;
    type Count = Infallible;
    const INPUT: &'static str = S::INPUT;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let clients = self.clients.read(frame.epoch());
        let (mut sent, mut refused) = (0, 0);
        frame.consume(|p| {
            let client = S::what(p).and_then(|what| clients.get(&what));
            back_to_layer_2(p);
            let done = client.zip(self.socket.as_ref()).is_some_and(|(client, socket)| {
                p.trace(|p| Sending::of(client, p));
                send(socket, client, &mut self.room, p)
            });
            (sent, refused) = (sent + u64::from(done), refused + u64::from(!done));
            Ok(())
        });
        frame.count_punted(sent + refused);
        frame.count_as(Counted::Sent, sent);
        frame.count_as(Counted::Unsent, refused);
    }
}

/// Takes back the headers that were passed over: they are still there.
fn back_to_layer_2(p: &mut Buffer<'_>) {
    let start = if p.flags().has(Flags::L2) { p.l2_offset() } else { p.l3_offset() };
    if p.flags().has(Flags::L2.with(Flags::L3))
        && let Ok(back) = usize::try_from(p.offset() - start)
    {
        // Without room there was nothing in front.
        let _ = p.prepend(back);
    }
}

fn send(
    socket: &UnixDatagram,
    client: &SocketAddr,
    room: &mut PacketBuffer,
    p: &Buffer<'_>,
) -> bool {
    let descriptor = Descriptor { interface: p.rx(), action: Descriptor::L2 };
    let head = size_of::<Descriptor>();
    let Some(datagram) = room.gather(p, head) else { return false };
    datagram[..head].copy_from_slice(descriptor.as_bytes());
    socket.send_to_addr(datagram, client).is_ok_and(|sent| sent == datagram.len())
}

struct Sending {
    interface: u32,
    to: String,
    bytes: Vec<u8>,
}

impl Sending {
    fn of(client: &SocketAddr, p: &Buffer<'_>) -> Self {
        let to = client.as_pathname().map(|path| path.display().to_string());
        let bytes = p.bytes()[..p.len().min(128)].to_vec();
        Self { interface: p.rx(), to: to.unwrap_or_default(), bytes }
    }
}

impl Record for Sending {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  to: {} sw_if_index: {}", self.to, self.interface)?;
        write!(f, "{}", print::ethernet(&self.bytes, 2))
    }
}

/// Adds all nodes of this file.
pub(super) fn add(
    router: &mut Router,
    socket: Option<&Arc<UnixDatagram>>,
    table: &Shared<Table>,
) -> Result<(), BuildError> {
    fn one<S: Sort>(
        router: &mut Router,
        socket: Option<&Arc<UnixDatagram>>,
        table: &Shared<Table>,
    ) -> Result<(), BuildError> {
        let (clients, room, sort) = (table.reader(), PacketBuffer::new(), PhantomData);
        router.engine.add(ToSocket::<S> { socket: socket.cloned(), clients, room, sort })?;
        Ok(())
    }
    one::<Udp<V4>>(router, socket, table)?;
    one::<Udp<V6>>(router, socket, table)?;
    one::<Proto<V4>>(router, socket, table)?;
    one::<Proto<V6>>(router, socket, table)?;
    one::<Icmp6>(router, socket, table)?;
    one::<Exception>(router, socket, table)
}
