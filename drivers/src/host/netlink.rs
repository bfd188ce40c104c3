//! Devices, addresses and routes of the host, by rtnetlink(7).

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, VlanProtocol,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily as Domain, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send,
    socket_with,
};
use wire::{MacAddr, Prefix};

use super::background::Background;

/// Bytes of a message's header.
const HEADER: usize = 16;
/// Bytes of an answer at most.
const ANSWER: usize = 8192;
/// Maximum bytes of notifications at once.
const NEWS: usize = 32 * 1024;
/// Packets of news taken at once at most.
const MOST_NEWS: usize = 256;
/// Times that all devices are asked for while messages are lost.
const MOST_ASKED: usize = 4;
/// The multicast group of what changes about devices (RTMGRP_LINK).
const LINKS: u32 = 1;

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
        self.converse(what, NLM_F_ACK | flags).map(drop)
    }
    /// Says one thing and waits for the answer, if it has one besides that it is done.
    fn converse(
        &mut self,
        what: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        self.sequence += 1;
        send_to_kernel(&self.socket, what, flags, self.sequence)?;
        let mut answer = vec![0; ANSWER];
        let (len, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..len]);
        match answer.map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(e) => match e.code {
                Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
                None => Ok(None),
            },
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }
    /// The MTU of a device in bytes.
    ///
    /// # Errors
    /// The kernel's: there is no such device.
    pub fn mtu(&mut self, link: u32) -> io::Result<u32> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        let answer = self.converse(RouteNetlinkMessage::GetLink(message), 0)?;
        let mtu = answer.and_then(|answer| Link::of(&answer)).and_then(|link| link.mtu);
        mtu.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
    fn set_link(&mut self, link: u32, what: LinkAttribute) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        message.attributes.push(what);
        self.ask(RouteNetlinkMessage::SetLink(message), 0)
    }
    /// Switches a device on or off.
    ///
    /// # Errors
    /// The kernel's.
    pub fn switch(&mut self, link: u32, is_on: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        if is_on {
            message.header.flags = LinkFlags::Up;
        }
        message.header.change_mask = LinkFlags::Up;
        self.ask(RouteNetlinkMessage::SetLink(message), 0)
    }
    /// Makes a device that carries the frames of another one with a VLAN tag.
    ///
    /// # Errors
    /// The kernel's: it has no VLANs, a device of that name.
    pub fn add_vlan(
        &mut self,
        name: &str,
        parent: u32,
        (vlan, is_dot1ad): (u16, bool),
    ) -> io::Result<()> {
        let protocol = if is_dot1ad { VlanProtocol::Ieee8021Ad } else { VlanProtocol::Ieee8021Q };
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Link(parent),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Vlan),
                LinkInfo::Data(InfoData::Vlan(vec![
                    InfoVlan::Id(vlan),
                    InfoVlan::Protocol(protocol),
                ])),
            ]),
        ];
        self.ask(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }
    /// Deletes a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove_link(&mut self, link: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = link;
        self.ask(RouteNetlinkMessage::DelLink(message), 0)
    }
    /// All devices.
    ///
    /// # Errors
    /// The kernel's.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
            links.extend(Link::of(&message));
        })?;
        Ok(links)
    }
    /// Requests all objects of a kind, and calls `take` with each; returns whether the list is
    /// complete. It is not if something changed meanwhile: some may be missing then.
    ///
    /// # Errors
    /// The kernel's.
    pub fn dump(
        &mut self,
        what: RouteNetlinkMessage,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<bool> {
        self.sequence += 1;
        send_to_kernel(&self.socket, what, NLM_F_DUMP, self.sequence)?;
        let mut room = vec![0; NEWS];
        let mut is_whole = true;
        loop {
            let (len, _) = recv(&self.socket, &mut room[..], RecvFlags::empty())?;
            let mut end = None;
            each_message(&room[..len], |message| {
                is_whole &= message.header.flags & NLM_F_DUMP_INTR == 0;
                match message.payload {
                    NetlinkPayload::InnerMessage(message) => take(message),
                    NetlinkPayload::Done(_) => end = Some(Ok(())),
                    NetlinkPayload::Error(e) => {
                        let code = e.code.map_or(0, |code| code.get().abs());
                        end = Some(Err(io::Error::from_raw_os_error(code)));
                    }
                    _ => (),
                }
            });
            if let Some(end) = end {
                return end.map(|()| is_whole);
            }
        }
    }
    /// Gives a device another address of layer 2.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mac(&mut self, link: u32, mac: MacAddr) -> io::Result<()> {
        self.set_link(link, LinkAttribute::Address(mac.0.to_vec()))
    }
    /// Changes the MTU of a device, in bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_mtu(&mut self, link: u32, bytes: u32) -> io::Result<()> {
        self.set_link(link, LinkAttribute::Mtu(bytes))
    }
    /// Says how many packets may wait to be sent on a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_queue_len(&mut self, link: u32, packets: u32) -> io::Result<()> {
        self.set_link(link, LinkAttribute::TxQueueLen(packets))
    }
    /// Makes a device a port of a bridge.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_bridge(&mut self, link: u32, bridge: u32) -> io::Result<()> {
        self.set_link(link, LinkAttribute::Controller(bridge))
    }
    /// Gives a device an address, at once in use.
    ///
    /// # Errors
    /// The kernel's.
    pub fn add_address(&mut self, link: u32, address: Prefix) -> io::Result<()> {
        let mut message = on_link(link, address);
        if address.addr().is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
    /// Takes an address away from a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn remove_address(&mut self, link: u32, address: Prefix) -> io::Result<()> {
        self.ask(RouteNetlinkMessage::DelAddress(on_link(link, address)), 0)
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

/// A device as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Number.
    pub number: u32,
    /// Name.
    pub name: Option<String>,
    /// Its MTU in bytes.
    pub mtu: Option<u32>,
    /// Set up.
    pub is_up: bool,
    /// Deleted, or moved to another namespace.
    pub is_gone: bool,
    /// The device that it is above, and the VLAN of its frames there with whether their tag is of
    /// 802.1ad.
    pub vlan: Option<(u32, u16, bool)>,
}

impl Link {
    /// The device that a message is about, if it is about one.
    pub fn of(message: &RouteNetlinkMessage) -> Option<Self> {
        let (link, is_gone) = match message {
            RouteNetlinkMessage::NewLink(link) => (link, false),
            RouteNetlinkMessage::DelLink(link) => (link, true),
            _ => return None,
        };
        let mut seen = Self {
            number: link.header.index,
            name: None,
            mtu: None,
            is_up: link.header.flags.contains(LinkFlags::Up),
            is_gone,
            vlan: None,
        };
        let (mut parent, mut vlan, mut is_dot1ad) = (None, None, false);
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Link(number) => parent = Some(*number),
                LinkAttribute::LinkInfo(info) => {
                    let data = info.iter().filter_map(|info| match info {
                        LinkInfo::Data(InfoData::Vlan(data)) => Some(data),
                        _ => None,
                    });
                    for of in data.flatten() {
                        match of {
                            InfoVlan::Id(id) => vlan = Some(*id),
                            InfoVlan::Protocol(p) => is_dot1ad = *p == VlanProtocol::Ieee8021Ad,
                            _ => (),
                        }
                    }
                }
                LinkAttribute::IfName(name) => seen.name = Some(name.clone()),
                LinkAttribute::Mtu(bytes) => seen.mtu = Some(*bytes),
                _ => {}
            }
        }
        seen.vlan = parent.zip(vlan).map(|(parent, vlan)| (parent, vlan, is_dot1ad));
        Some(seen)
    }
}

/// The kernel's messages about changed devices of a namespace.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Arc<OwnedFd>,
    namespace: Namespace,
    /// All devices, which were asked for because messages were lost.
    asked: Option<Background<Vec<Link>>>,
}

/// A network namespace: whichever has the same value is the same, as long as one of both is kept.
pub type Namespace = (u64, u64);

impl LinkMonitor {
    /// Listens to notifications from now on in the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(Domain::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, LINKS))?;
        let here = std::fs::metadata("/proc/thread-self/ns/net")?;
        let namespace = (here.dev(), here.ino());
        Ok(Self { socket: Arc::new(socket), namespace, asked: None })
    }
    /// Whether all devices are being asked for: the answers do not come at the descriptor.
    pub fn is_asking(&self) -> bool {
        self.asked.is_some()
    }
    /// The namespace they are about.
    pub fn namespace(&self) -> Namespace {
        self.namespace
    }
    /// Takes pending notifications, the latest last. When the kernel had to drop some, all devices
    /// are requested elsewhere, as the kernel blocks the request while it creates or deletes some,
    /// and are reported another time.
    pub fn take(&mut self) -> Vec<Link> {
        let mut links = Vec::new();
        if let Some(asked) = &self.asked {
            let Some(all) = asked.result() else { return links };
            links.extend(all.into_iter().flatten());
            self.asked = None;
        }
        if links_of(&self.socket, &mut links) {
            let socket = Arc::clone(&self.socket);
            self.asked = Some(Background::begin(move || all_of(&socket)));
        }
        links
    }
}

impl AsFd for LinkMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Takes the messages that wait on a socket; whether some were lost.
fn links_of(socket: &OwnedFd, links: &mut Vec<Link>) -> bool {
    let mut bytes = vec![0; NEWS];
    for _ in 0..MOST_NEWS {
        match recv(socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((len, _)) => each_message(&bytes[..len], |NetlinkMessage { payload, .. }| {
                if let NetlinkPayload::InnerMessage(message) = &payload {
                    links.extend(Link::of(message));
                }
            }),
            Err(Errno::NOBUFS) => return true,
            Err(_) => break,
        }
    }
    false
}

/// All devices, and notifications received meanwhile.
fn all_of(socket: &OwnedFd) -> Vec<Link> {
    let mut links = Vec::new();
    for _ in 0..MOST_ASKED {
        let all = RouteNetlinkMessage::GetLink(LinkMessage::default());
        // If this fails so does the next reading.
        let _ = send_to_kernel(socket, all, NLM_F_DUMP, 0);
        if !links_of(socket, &mut links) {
            break;
        }
    }
    links
}

/// Calls `take` with each message of a packet; unreadable ones are ignored.
pub fn each_message(mut bytes: &[u8], mut take: impl FnMut(NetlinkMessage<RouteNetlinkMessage>)) {
    while let Some(len) = bytes.first_chunk().map(|len| u32::from_ne_bytes(*len) as usize) {
        let Some(message) = bytes.get(..len).filter(|_| len >= HEADER) else { return };
        let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize;
        if let Ok(message) = read(message).or_else(|_| read(&without_encapsulation(message))) {
            take(message);
        }
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    }
}

/// Bytes of the header of a route and of that of a next hop.
const ROUTE: usize = 12;
const NEXT_HOP: usize = 8;
/// Messages about routes, and attributes of them.
const ROUTES: std::ops::RangeInclusive<u16> = 24..=25;
const MULTIPATH: u16 = 9;
const ENCAPSULATION: u16 = 22;
/// An attribute type that is not read.
const UNREAD: u16 = 0x3fff;

/// A message whose routes have nothing but the kind of their encapsulation: there are more of them
/// than are understood.
fn without_encapsulation(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let kind = message.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind.is_some_and(|kind| ROUTES.contains(&kind)) {
        hide(message.get_mut(HEADER + ROUTE..).unwrap_or_default());
    }
    message
}

/// Hides encapsulations among attributes.
fn hide(mut attributes: &mut [u8]) {
    while let Some([a, b, c, d]) = attributes.first_chunk().copied() {
        let (len, kind) = (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]) & 0x3fff);
        let len = usize::from(len).max(4);
        let Some(value) = attributes.get_mut(4..len) else { return };
        match kind {
            MULTIPATH => hide_in_hops(value),
            ENCAPSULATION => attributes[2..4].copy_from_slice(&UNREAD.to_ne_bytes()),
            _ => (),
        }
        attributes = attributes.get_mut(len.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// The same among those of next hops.
fn hide_in_hops(mut hops: &mut [u8]) {
    while let Some([a, b]) = hops.first_chunk().copied() {
        let len = usize::from(u16::from_ne_bytes([a, b])).max(NEXT_HOP);
        let Some(attributes) = hops.get_mut(NEXT_HOP..len) else { return };
        hide(attributes);
        hops = hops.get_mut(len.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn on_link(link: u32, address: Prefix) -> AddressMessage {
    let addr = address.addr();
    let mut message = AddressMessage::default();
    message.header.family = family(addr);
    message.header.prefix_len = address.prefix_len();
    message.header.index = link;
    message.attributes = vec![AddressAttribute::Local(addr), AddressAttribute::Address(addr)];
    message
}

fn send_to_kernel(
    socket: &OwnedFd,
    what: RouteNetlinkMessage,
    flags: u16,
    sequence: u32,
) -> io::Result<()> {
    let mut request = NetlinkMessage::from(what);
    request.header.sequence_number = sequence;
    request.header.flags = NLM_F_REQUEST | flags;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    send(socket, &bytes, SendFlags::empty())?;
    Ok(())
}

fn family(addr: IpAddr) -> AddressFamily {
    if addr.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}
