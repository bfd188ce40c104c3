//! Our machine and smoltcp: both roles, both directions, with loss. Bytes are compared.

use std::collections::VecDeque;

use smoltcp::iface::{Config as InterfaceConfig, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State as Theirs};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use tcp_machine::{
    Answer, Config, Connection, Effects, Events, Flow, HalfOpen, MAX_HEADER, Machine, Outgoing,
    Segment, Settings, Sink, State, Time, reset_for,
};

const OURS: [u8; 4] = [10, 0, 0, 1];
const THEIRS: [u8; 4] = [10, 0, 0, 2];
const PORT: u16 = 80;
const IP_LEN: usize = 20;
const MTU: usize = 1500;
/// Delay of each direction.
const DELAY_US: u64 = 5_000;

/// A packet of IPv4 with a payload; checksums are ignored on both sides.
fn packet(src: [u8; 4], dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; IP_LEN];
    packet[0] = 0x45;
    let len = (IP_LEN + payload.len()) as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    (packet[8], packet[9]) = (64, 6);
    packet[12..16].copy_from_slice(&src);
    packet[16..20].copy_from_slice(&dst);
    packet.extend_from_slice(payload);
    packet
}

/// A direction: packets with their time of arrival, of which some are lost.
struct Wire {
    packets: VecDeque<(u64, Vec<u8>)>,
    random: u64,
    loss: u64,
}

impl Wire {
    fn new(seed: u64, loss: u64) -> Self {
        Self { packets: VecDeque::new(), random: seed * 2 + 1, loss }
    }
    fn send(&mut self, now: u64, packet: Vec<u8>) {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if (self.random >> 33) % 1000 >= self.loss {
            self.packets.push_back((now + DELAY_US, packet));
        }
    }
    fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        self.packets.pop_front_if(|(at, _)| *at <= now).map(|(_, packet)| packet)
    }
}

/// smoltcp's device.
struct Port {
    now: u64,
    input: Option<Vec<u8>>,
    output: Vec<Vec<u8>>,
}

struct Taken(Vec<u8>);
struct Given<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Taken {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Given<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let mut packet = vec![0; len];
        let result = fill(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Taken;
    type TxToken<'a> = Given<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Taken, Given<'_>)> {
        Some((Taken(self.input.take()?), Given(&mut self.output)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Given<'_>> {
        Some(Given(&mut self.output))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

/// Received bytes, and those of the current payload.
#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    ready: usize,
    payload: Vec<u8>,
}

impl Sink for Received {
    fn space(&self) -> u32 {
        200_000
    }
    fn unread(&self) -> u32 {
        0
    }
    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool {
        let (at, from, len) = (self.ready + ahead as usize, from as usize, len as usize);
        if self.bytes.len() < at + len {
            self.bytes.resize(at + len, 0);
        }
        self.bytes[at..at + len].copy_from_slice(&self.payload[from..from + len]);
        true
    }
    fn deliver(&mut self, len: u32) {
        self.ready += len as usize;
    }
}

enum Slot {
    Listening,
    Half(HalfOpen),
    Open(Box<Connection>),
    Over,
}

struct Ours {
    machine: Machine,
    slot: Slot,
    sink: Received,
    source: Vec<u8>,
    acked: usize,
    sent: Vec<Vec<u8>>,
    effects: Effects,
}

fn flow() -> Flow {
    Flow { local_port: PORT, remote_port: PORT, ..Flow::default() }
}

/// Cuts a segment into packets.
fn cut(out: &Outgoing, source: &[u8], sent: &mut Vec<Vec<u8>>) {
    let (mut done, len) = (0, out.segment.len);
    loop {
        let mut segment = out.segment;
        segment.len = (len - done).min(u32::from(out.mss));
        segment.seq += done;
        let from = (out.ahead + done) as usize;
        done += segment.len;
        if done < len {
            segment.flags.0 &= !(tcp_machine::Flags::FIN.0 | tcp_machine::Flags::PSH.0);
        }
        let mut header = [0; MAX_HEADER];
        let header_len = segment.write_header(PORT, PORT, &mut header);
        let payload = match segment.len as usize {
            0 => &[],
            len => &source[from..from + len],
        };
        sent.push(packet(OURS, THEIRS, &[&header[..header_len], payload].concat()));
        if done == len {
            return;
        }
    }
}

impl Ours {
    fn new(source: Vec<u8>, config: Config) -> Self {
        Self {
            machine: Machine::new(config, [3; 16], 2),
            slot: Slot::Listening,
            sink: Received::default(),
            source,
            acked: 0,
            sent: Vec::new(),
            effects: Effects::default(),
        }
    }

    fn connect(&mut self, now: Time) {
        let settings = Settings::default();
        let connection = Connection::open(&mut self.machine, now, &flow(), 1460, 200_000, settings);
        self.slot = Slot::Open(Box::new(connection));
        self.send(now);
    }

    fn receive(&mut self, now: Time, packet: &[u8]) {
        let segment = Segment::parse(&packet[IP_LEN..]).expect("smoltcp sends what is right");
        let payload = packet.len() - segment.len as usize;
        self.sink.payload = packet[payload..].to_vec();
        let machine = &mut self.machine;
        let (source, sent) = (&self.source, &mut self.sent);
        let out = &mut |out: &Outgoing| {
            cut(out, source, sent);
            true
        };
        match &mut self.slot {
            Slot::Listening => {
                let half = HalfOpen::new(machine, now, &flow(), &segment, 1460, None);
                if let Some(mut half) = half {
                    half.send(machine, now, 200_000, out);
                    self.slot = Slot::Half(half);
                }
            }
            Slot::Half(half) => {
                let settings = Settings::default();
                let answer = half.segment(machine, now, &segment, settings, &mut self.sink, out);
                if let Answer::Open(connection, effects) = answer {
                    self.slot = Slot::Open(Box::new(connection));
                    self.apply(now, &effects);
                }
            }
            Slot::Open(connection) => {
                let effects = connection.segment(machine, now, &segment, &mut self.sink);
                self.apply(now, &effects);
            }
            Slot::Over => {
                if let Some(reset) = reset_for(&segment) {
                    cut(&reset, &[], &mut self.sent);
                }
            }
        }
    }

    fn apply(&mut self, now: Time, effects: &Effects) {
        self.acked += effects.acked as usize;
        self.effects.add(effects);
        if let Slot::Open(connection) = &mut self.slot
            && effects.events.contains(Events::CONNECTED)
        {
            // All is written at once: the FIN follows it.
            let effects = connection.shut_down(&mut self.machine, now);
            self.effects.add(&effects);
        }
        self.send(now);
        if effects.events.contains(Events::ENDED) {
            self.slot = Slot::Over;
        }
    }

    fn send(&mut self, now: Time) {
        let Slot::Open(connection) = &mut self.slot else { return };
        let source = &self.source[self.acked..];
        let sent = &mut self.sent;
        let out = &mut |out: &Outgoing| {
            cut(out, source, sent);
            true
        };
        connection.send(&mut self.machine, now, source.len() as u32, 10_000, out);
        connection.check(&self.machine, Some(source.len() as u32)).unwrap();
    }

    fn work(&mut self, now: Time) {
        let available = (self.source.len() - self.acked) as u32;
        match &mut self.slot {
            Slot::Half(half) => {
                let sent = &mut self.sent;
                let out = &mut |out: &Outgoing| {
                    cut(out, &[], sent);
                    true
                };
                half.timer(&mut self.machine, now, 200_000, out);
            }
            Slot::Open(connection) => {
                let effects = connection.timer(&mut self.machine, now, available);
                self.apply(now, &effects);
            }
            _ => {}
        }
    }

    fn state(&self) -> State {
        match &self.slot {
            Slot::Listening => State::Listen,
            Slot::Half(_) => State::SynRcvd,
            Slot::Open(connection) => connection.state(),
            Slot::Over => State::Closed,
        }
    }
}

fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|n| (n as u8).wrapping_mul(31) ^ (n >> 8) as u8 ^ seed).collect()
}

/// smoltcp with a socket that listens or connects, and what it has received.
struct Peer {
    port: Port,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    source: VecDeque<u8>,
    received: Vec<u8>,
}

impl Peer {
    fn new(source: Vec<u8>, is_active: bool) -> Self {
        let mut port = Port { now: 0, input: None, output: Vec::new() };
        let config = InterfaceConfig::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut port, Instant::ZERO);
        interface.update_ip_addrs(|all| {
            all.push(IpCidr::new(IpAddress::from(std::net::Ipv4Addr::from(THEIRS)), 24)).unwrap();
        });
        let buffer = || SocketBuffer::new(vec![0; 100_000]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        if is_active {
            let remote = (IpAddress::from(std::net::Ipv4Addr::from(OURS)), PORT);
            socket.connect(interface.context(), remote, PORT).unwrap();
        } else {
            socket.listen(PORT).unwrap();
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { port, interface, sockets, handle, source: source.into(), received: Vec::new() }
    }

    fn work(&mut self, now: u64, input: Option<Vec<u8>>) {
        self.port.now = now;
        self.port.input = input;
        let time = Instant::from_micros(now as i64);
        self.interface.poll(time, &mut self.port, &mut self.sockets);
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        while socket.can_recv() {
            let all = &mut self.received;
            socket
                .recv(|bytes| {
                    all.extend_from_slice(bytes);
                    (bytes.len(), ())
                })
                .unwrap();
        }
        if socket.can_send() && !self.source.is_empty() {
            let len = socket.send_slice(self.source.make_contiguous()).unwrap();
            self.source.drain(..len);
        }
        if self.source.is_empty() && socket.may_send() {
            socket.close();
        }
        self.interface.poll(time, &mut self.port, &mut self.sockets);
    }

    fn state(&self) -> Theirs {
        self.sockets.get::<Socket>(self.handle).state()
    }
}

fn exchange(seed: u64, is_active: bool, loss: u64, len: usize) {
    let config = Config { max_burst: 20_000, ..Config::default() };
    let mut ours = Ours::new(bytes(len, 1), config);
    let mut peer = Peer::new(bytes(len, 2), !is_active);
    let (mut there, mut back) = (Wire::new(seed, loss), Wire::new(seed + 77, loss));
    let mut now = 1_000_000;
    if is_active {
        ours.connect(Time::from_us(now));
    }
    let is_over = |ours: &Ours, peer: &Peer| {
        let lingers = matches!(ours.state(), State::Closed | State::TimeWait);
        lingers && matches!(peer.state(), Theirs::Closed | Theirs::TimeWait)
    };
    while !is_over(&ours, &peer) {
        now += 500;
        assert!(now < 600_000_000, "seed {seed}: {} {}", ours.state(), peer.state());
        while let Some(packet) = back.arrived(now) {
            ours.receive(Time::from_us(now), &packet);
        }
        ours.work(Time::from_us(now));
        ours.sent.drain(..).for_each(|packet| there.send(now, packet));
        loop {
            let packet = there.arrived(now);
            let is_last = packet.is_none();
            peer.work(now, packet);
            peer.port.output.drain(..).for_each(|packet| back.send(now, packet));
            if is_last {
                break;
            }
        }
    }
    assert_eq!(ours.effects.error, None, "seed {seed}");
    assert!(peer.received == bytes(len, 1), "seed {seed}: {} of {len}", peer.received.len());
    let ready = ours.sink.ready;
    assert!(ours.sink.bytes[..ready] == bytes(len, 2), "seed {seed}: {ready} of {len}");
}

#[test]
fn bytes_go_both_ways_when_we_connect() {
    exchange(1, true, 0, 300_000);
    (2..6).for_each(|seed| exchange(seed, true, 30, 60_000));
}

#[test]
fn bytes_go_both_ways_when_they_connect() {
    exchange(1, false, 0, 300_000);
    (2..6).for_each(|seed| exchange(seed, false, 30, 60_000));
}
