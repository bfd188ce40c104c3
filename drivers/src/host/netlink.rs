//! Devices, addresses and routes of the host, by rtnetlink(7).

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::{
    AddressFamily as Domain, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use wire::{MacAddr, Prefix};

/// Bytes of an answer at most.
const ANSWER: usize = 8192;

/// A conversation with the kernel about the namespace it was begun in.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Begins one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Self> {
        // Protocol 0 is that of routes.
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(Domain::NETLINK, SocketType::RAW, flags, None)?;
        Ok(Self { socket, sequence: 0 })
    }
    /// Asks for one thing to be done and waits until it is.
    fn ask(&mut self, what: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut request = NetlinkMessage::from(what);
        self.sequence += 1;
        request.header.sequence_number = self.sequence;
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answer = vec![0; ANSWER];
        let (len, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..len]);
        match answer.map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(e) => match e.code {
                Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
    fn set_link(&mut self, link: u32, is_up: bool, what: Option<LinkAttribute>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        if is_up {
            message.header.flags = LinkFlags::Up;
            message.header.change_mask = LinkFlags::Up;
        }
        message.attributes.extend(what);
        self.ask(RouteNetlinkMessage::SetLink(message), 0)
    }
    /// Switches a device on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn switch_on(&mut self, link: u32) -> io::Result<()> {
        self.set_link(link, true, None)
    }
    /// Gives a device another address of layer 2.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mac(&mut self, link: u32, mac: MacAddr) -> io::Result<()> {
        self.set_link(link, false, Some(LinkAttribute::Address(mac.0.to_vec())))
    }
    /// Changes the MTU of a device, in bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mtu(&mut self, link: u32, bytes: u32) -> io::Result<()> {
        self.set_link(link, false, Some(LinkAttribute::Mtu(bytes)))
    }
    /// Says how many packets may wait to be sent on a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_queue_len(&mut self, link: u32, packets: u32) -> io::Result<()> {
        self.set_link(link, false, Some(LinkAttribute::TxQueueLen(packets)))
    }
    /// Makes a device a port of a bridge.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_bridge(&mut self, link: u32, bridge: u32) -> io::Result<()> {
        self.set_link(link, false, Some(LinkAttribute::Controller(bridge)))
    }
    /// Gives a device an address, at once in use.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_address(&mut self, link: u32, address: Prefix) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address.addr());
        message.header.prefix_len = address.prefix_len();
        message.header.index = link;
        if address.addr().is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        let addr = address.addr();
        message.attributes = vec![AddressAttribute::Local(addr), AddressAttribute::Address(addr)];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
    /// Sends by a gateway what has no route of its own.
    ///
    /// # Errors
    /// The kernel's: the gateway is in no connected network.
    pub fn add_default_route(&mut self, link: u32, gateway: IpAddr) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(gateway);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        let gateway = RouteAddress::from(gateway);
        message.attributes = vec![RouteAttribute::Gateway(gateway), RouteAttribute::Oif(link)];
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
}

fn family(addr: IpAddr) -> AddressFamily {
    if addr.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
