//! `cnat log`: sessions that are noted in the event log as they come and go.

use net::prelude::*;
use sessions::{Address, Flow};

use crate::session::{NOWHERE, One};
use crate::wanted::Error;

/// Sessions that are noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Logging {
    /// None.
    #[default]
    Off,
    /// All.
    All,
    /// Those with one of these addresses, which are never none.
    Of(BTreeSet<IpAddr>),
}

impl Logging {
    /// Addresses of sessions; none for all.
    pub fn hosts(&self) -> impl Iterator<Item = Option<IpAddr>> {
        let is_all = *self == Self::All;
        let some = match self {
            Self::Of(some) => Some(some.iter()),
            _ => None,
        };
        let some = some.into_iter().flatten().copied().map(Some);
        is_all.then_some(None).into_iter().chain(some)
    }
    /// Whether a session is noted.
    pub fn has(&self, session: &Noted) -> bool {
        match self {
            Self::Off => false,
            Self::All => true,
            Self::Of(some) => session.flows.iter().flatten().any(|(addr, _)| some.contains(addr)),
        }
    }
    /// Whether none is.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
    /// Enables or disables logging of sessions of an address or all.
    fn set(self, host: Option<IpAddr>, is_on: bool) -> Result<Self, Error> {
        let Some(host) = host else { return Ok(if is_on { Self::All } else { Self::Off }) };
        let mut some = match self {
            Self::Of(some) => some,
            _ => BTreeSet::new(),
        };
        if is_on {
            some.insert(host);
        } else if !some.remove(&host) {
            return Err(Error::NotLogged(host));
        }
        Ok(if some.is_empty() { Self::Off } else { Self::Of(some) })
    }
}

/// A session that has come, or gone.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    is_new: bool,
    /// Source and destination of packets, and of their answers.
    flows: [[(IpAddr, u16); 2]; 2],
    protocol: Protocol,
    table: u32,
    /// The translation, from 1 on; 0 when its source was translated by the policy.
    translation: u32,
}

impl Event for Noted {}

fn any<A: Address>(addr: A) -> IpAddr {
    let bytes = addr.as_bytes();
    let six = |bytes| <[u8; 16]>::try_from(bytes).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from);
    <[u8; 4]>::try_from(bytes).map_or_else(|_| six(bytes).into(), |v4| Ipv4Addr::from(v4).into())
}

impl Noted {
    /// A session by its flows and translation.
    pub fn new<A: Address>(is_new: bool, flows: [&Flow<A>; 2], translation: u32) -> Self {
        let [forward, _] = flows;
        let (protocol, table) = (forward.protocol(), forward.scope & !NOWHERE);
        let ends = |f: &Flow<A>| [(any(f.src), f.src_port), (any(f.dst), f.dst_port)];
        Self { is_new, flows: flows.map(ends), protocol, table, translation }
    }
    /// A session that has gone.
    pub fn gone<A: Address>(one: &One<A>) -> Self {
        Self::new(false, [&one.forward, &one.reverse], one.data.translation)
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [[src, dst], [new_dst, new_src]] = self.flows;
        let end = if self.is_new { "begins" } else { "ends" };
        let protocol = self.protocol.0;
        write!(f, "cnat: session {end}: protocol {protocol}")?;
        write!(f, " {} port {} -> {} port {}", src.0, src.1, dst.0, dst.1)?;
        write!(f, " as {} port {} -> {} port {}", new_src.0, new_src.1, new_dst.0, new_dst.1)?;
        write!(f, ", table {}", self.table)?;
        match self.translation.checked_sub(1) {
            Some(id) => write!(f, ", translation {id}"),
            None => Ok(()),
        }
    }
}

/// A node's way to the log.
#[derive(Clone)]
pub struct Log {
    events: EventSender<Noted>,
    logging: Reader<Logging>,
}

impl Log {
    /// For a node.
    pub fn new(router: &mut Router, logging: Reader<Logging>) -> Self {
        Self { events: router.events.sender(), logging }
    }
    /// The log during a frame.
    pub fn during<'a>(&'a mut self, epoch: Epoch<'a>) -> Noting<'a> {
        Noting { events: &mut self.events, logging: self.logging.read(epoch) }
    }
}

/// A node's log during a frame.
pub struct Noting<'a> {
    events: &'a mut EventSender<Noted>,
    logging: &'a Logging,
}

impl Noting<'_> {
    /// Notes a session if it is one that is noted. Lost, and counted as an event that is, when
    /// control has too much to do.
    pub fn note(&mut self, session: impl FnOnce() -> Noted) {
        if !self.logging.is_off() {
            let session = session();
            if self.logging.has(&session) {
                self.events.send(session);
            }
        }
    }
}

/// Control's state.
pub struct Logged(pub Shared<Logging>);

/// Sessions that are noted.
pub fn logging(router: &Router) -> Logging {
    router.own::<Logged>().0.current().clone()
}

/// Enables or disables logging of sessions of an address or all.
///
/// # Errors
/// [`Error::NotLogged`]; nothing has changed then.
pub fn set(router: &mut Router, host: Option<IpAddr>, is_on: bool) -> Result<(), Error> {
    let new = logging(router).set(host, is_on)?;
    router.own_mut::<Logged>().0.publish(new);
    Ok(())
}

/// Notes sessions that have gone.
pub fn note_all(router: &Router, gone: &[Noted]) {
    gone.iter().for_each(|session| router.note(session));
}
