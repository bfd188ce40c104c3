//! `bfd-udp4-input`, `bfd-udp6-input`: control packets; `bfd-udp-echo4-input`,
//! `bfd-udp-echo6-input`: echo packets that came back. They are checked and authenticated here;
//! control takes them from here.

use infra::counter::Rows;
use net::prelude::*;
use wire::bfd::{self, Echo, Header, Malformed, Sha1, State};

use super::table::{Entry, Key, Table};

/// A version of IP with sessions over it.
pub trait Carried: Version {
    /// Name of the node of control packets.
    const CONTROL: &'static str;
    /// Name of the node of echo packets.
    const ECHO: &'static str;
    /// Source, destination and hops left of a packet, from the bytes of its IP header on.
    fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr, u8)>;
}

impl Carried for V4 {
    const CONTROL: &'static str = "bfd-udp4-input";
    const ECHO: &'static str = "bfd-udp-echo4-input";
    fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr, u8)> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        Some((header.src_addr().into(), header.dst_addr().into(), header.ttl))
    }
}

impl Carried for V6 {
    const CONTROL: &'static str = "bfd-udp6-input";
    const ECHO: &'static str = "bfd-udp-echo6-input";
    fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr, u8)> {
        let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
        Some((header.src_addr().into(), header.dst_addr().into(), header.hop_limit))
    }
}

/// Drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// bad packet: no IP header in front of it.
    #[name("bad")]
    Bad,
    /// the session is held down.
    #[name("admin_down")]
    AdminDown,
    /// detection multiplier of 0.
    #[name("detect_multi")]
    DetectMult,
    /// for a session for which this is off.
    #[name("disabled")]
    Disabled,
    /// to another address than the session's.
    #[name("dst_mismatch")]
    DstMismatch,
    /// not authentic.
    #[name("failed_verification")]
    FailedVerification,
    /// shorter than it says, or too short.
    #[name("length")]
    Length,
    /// the multipoint bit is set.
    #[name("multi_point")]
    Multipoint,
    /// the sender's discriminator is 0.
    #[name("my_disc")]
    MyDiscriminator,
    /// no such session.
    #[name("no_session")]
    NoSession,
    /// from another address than the session's.
    #[name("src_mismatch")]
    SrcMismatch,
    /// came over more hops than it may.
    #[name("ttl")]
    Ttl,
    /// another version.
    #[name("version")]
    Version,
    /// the receiver's discriminator is 0 in a state in which it is known.
    #[name("your_disc")]
    YourDiscriminator,
}

impl From<Malformed> for Error {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::Version => Self::Version,
            Malformed::Length => Self::Length,
            Malformed::DetectMult => Self::DetectMult,
            Malformed::Multipoint => Self::Multipoint,
            Malformed::MyDiscriminator => Self::MyDiscriminator,
            Malformed::YourDiscriminator => Self::YourDiscriminator,
        }
    }
}

/// Counters besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets for sessions.
    #[name("none")]
    Taken,
}

/// A packet for a session.
#[derive(Clone, Copy, Debug)]
pub enum Heard {
    /// A control packet.
    Control {
        /// This end's discriminator.
        session: u32,
        /// The packet.
        header: Header,
        /// Its sequence number.
        sequence: Option<u32>,
        /// Whether it is authentic as the session is to be next.
        is_next: bool,
    },
    /// An echo packet.
    Echo {
        /// This end's discriminator.
        session: u32,
        /// When it ends to be worth something, in nanoseconds.
        expires: u64,
    },
}

impl Event for Heard {
    const ROOM: usize = 4096;
}

/// State shared by both nodes.
#[derive(Clone)]
pub(super) struct Parts {
    pub table: Reader<Table>,
    pub counters: Rows<VolumeCounter>,
    pub events: EventSender<Heard>,
}

/// Takes control packets.
#[derive(Clone)]
pub struct ControlInput<V>(pub(super) Parts, pub(super) PhantomData<V>);

/// Takes echo packets.
#[derive(Clone)]
pub struct EchoInput<V>(pub(super) Parts, pub(super) PhantomData<V>);

/// The port that a packet came to; its current bytes start behind the UDP header.
fn port(p: &Buffer<'_>) -> Option<u16> {
    let (header, _) = udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok()?;
    Some(header.dst_port.get())
}

/// Bytes of a packet from its IP header on.
fn length(p: &Buffer<'_>) -> u64 {
    p.total_len() as u64 + u64::from((p.offset() - p.l3_offset()) as u16)
}

/// The session of a packet, which is authentic, and whether as it is to be next.
fn session<'t, V: Carried>(
    table: &'t Table,
    p: &Buffer<'_>,
    packet: &bfd::Control<'_>,
) -> Result<(u32, &'t Entry, bool), Error> {
    let (src, dst, hops) = V::ends(p.bytes_from(p.l3_offset())).ok_or(Error::Bad)?;
    let is_multihop = port(p) == Some(bfd::MULTIHOP);
    let least = if is_multihop { table.least_ttl } else { u8::MAX };
    if hops < least {
        return Err(Error::Ttl);
    }
    let interface = (!is_multihop).then(|| InterfaceIndex(p.rx()));
    let session = match packet.header.your_discriminator.get() {
        0 => {
            *table.by_key.get(&Key { interface, local: dst, peer: src }).ok_or(Error::NoSession)?
        }
        session => session,
    };
    let entry = table.by_discriminator.get(&session).ok_or(Error::NoSession)?;
    if entry.key.interface != interface {
        return Err(Error::NoSession);
    }
    if entry.key.local != dst {
        return Err(Error::DstMismatch);
    }
    if entry.key.peer != src {
        return Err(Error::SrcMismatch);
    }
    if entry.is_admin_down {
        return Err(Error::AdminDown);
    }
    let is_by = |a: &Option<super::keys::Authentication>| match a {
        Some(by) => by.is_authentic(packet),
        None => !packet.header.has(bfd::flag::AUTHENTICATED),
    };
    if is_by(&entry.authentication) {
        return Ok((session, entry, false));
    }
    let is_next = entry.next.as_ref().is_some_and(is_by);
    if is_next { Ok((session, entry, true)) } else { Err(Error::FailedVerification) }
}

impl<V: Carried> Node for ControlInput<V> {
    const NAME: &'static str = V::CONTROL;
    type Next = std::convert::Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let table = self.0.table.read(frame.epoch());
        let counters = self.0.counters.row(frame.thread());
        let mut taken = 0;
        frame.consume(|p| {
            p.trace(|p| Said(bfd::parse(p.bytes()).map(|packet| *packet.header)));
            let packet = bfd::parse(p.bytes())?;
            let header = *packet.header;
            let (session, entry, is_next) = session::<V>(table, p, &packet)?;
            let section = Sha1::ref_from_prefix(packet.authentication).ok();
            let sequence = section.map(|(section, _)| section.sequence.get());
            if let Some(counter) = counters.get(entry.index as usize) {
                counter.add(1, length(p));
            }
            self.0.events.send(Heard::Control { session, header, sequence, is_next });
            taken += 1;
            Ok(())
        });
        frame.count(Count::Taken, taken);
    }
}

impl<V: Carried> Node for EchoInput<V> {
    const NAME: &'static str = V::ECHO;
    type Next = std::convert::Infallible;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let table = self.0.table.read(frame.epoch());
        let counters = self.0.counters.row(frame.thread());
        let mut taken = 0;
        frame.consume(|p| {
            let echo = *p.header::<Echo>().ok_or(Error::Length)?;
            p.trace(|_| Echoed(echo));
            let (session, expires) = (echo.discriminator.get(), echo.expires.get());
            let entry = table.by_discriminator.get(&session).ok_or(Error::NoSession)?;
            if entry.key.interface != Some(InterfaceIndex(p.rx())) {
                return Err(Error::NoSession);
            }
            if entry.is_admin_down {
                return Err(Error::AdminDown);
            }
            if entry.echo.checksum(session, expires) != echo.checksum.get() {
                return Err(Error::FailedVerification);
            }
            if let Some(counter) = counters.get(entry.index as usize) {
                counter.add(1, length(p));
            }
            self.0.events.send(Heard::Echo { session, expires });
            taken += 1;
            Ok(())
        });
        frame.count(Count::Taken, taken);
    }
}

/// Trace of a control packet.
struct Said(Result<Header, Malformed>);

impl Record for Said {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = match &self.0 {
            Ok(header) => header,
            Err(why) => return write!(f, "  malformed: {why:?}"),
        };
        let Header { my_discriminator: my, your_discriminator: your, detect_mult, .. } = header;
        let (state, diagnostic) = (header.state(), header.diagnostic());
        write!(f, "  {} diag {diagnostic}", super::properties::state(state))?;
        for (flag, name) in [
            (bfd::flag::POLL, "poll"),
            (bfd::flag::FINAL, "final"),
            (bfd::flag::DEMAND, "demand"),
            (bfd::flag::AUTHENTICATED, "authenticated"),
        ] {
            if header.has(flag) {
                write!(f, " {name}")?;
            }
        }
        write!(f, " detect-mult {detect_mult} my {my} your {your}")?;
        if state == State::AdminDown {
            return Ok(());
        }
        let (tx, rx) = (header.desired_min_tx_us, header.required_min_rx_us);
        write!(f, "\n  desired-min-tx {tx} required-min-rx {rx}")?;
        write!(f, " required-min-echo-rx {}", header.required_min_echo_rx_us)
    }
}

/// Trace of an echo packet.
struct Echoed(Echo);

impl Record for Echoed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  echo of {} expires {}", self.0.discriminator, self.0.expires)
    }
}
