//! Exchanges: messages of clients, sent again and again until they are answered or it is time to
//! give up (RFC 8415 section 15).

use control::process::between;
use net::interface::Kind;
use net::neighbor;
use net::prelude::*;
use wire::dhcp6::{self, CLIENT_PORT, Header, Lease, SERVER_PORT, SERVERS, kind};

use super::message::{Answer, MOST_LEASES, Written};
use super::node::Lost;
use super::{Dhcp6, Ia, api, client, datagram6, duid};
use crate::Error;
use crate::node::Arrived;

/// Processes of the timers, by kind of leases.
pub const PROCESS: [&str; 2] =
    ["send-dhcp6-client-message-process", "send-dhcp6-pd-client-message-process"];
/// Most exchanges that there may be at a time.
const MOST: usize = 4096;
/// Servers are asked, whichever there are.
pub const ANY_SERVER: u32 = u32::MAX;

/// Names an exchange: there is one at a time for each type of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Kind of leases.
    pub ia: Ia,
    /// Interface index.
    pub on: InterfaceIndex,
    /// Message type.
    pub kind: u8,
}

/// Bounds in seconds and messages; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Time until the second message.
    pub irt: u32,
    /// Most time between two.
    pub mrt: u32,
    /// Most messages.
    pub mrc: u32,
    /// Most time in all.
    pub mrd: u32,
}

/// The request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The server; `None` for all.
    pub server: Option<u32>,
    /// Times of the association.
    pub t1: u32,
    /// Times of the association.
    pub t2: u32,
    /// Its leases.
    pub leases: Vec<Lease>,
}

/// A message that is sent until it is answered.
pub struct Exchange {
    /// The request.
    pub message: Message,
    timing: Timing,
    transaction: [u8; 3],
    began: f64,
    sent: u32,
    /// Time between the last two messages.
    wait: f64,
    /// When it is sent again, or given up.
    pub next: f64,
}

/// Due work of an exchange.
enum Due {
    Send,
    GiveUp,
}

impl Exchange {
    fn new(message: Message, timing: Timing, now: f64) -> Self {
        let random = between(0.0, f64::from(1 << 24)) as u32;
        let [_, a, b, c] = random.to_be_bytes();
        let (transaction, next) = ([a, b, c], now);
        Self { message, timing, transaction, began: now, sent: 0, wait: 0.0, next }
    }
    fn is_over(&self, now: f64) -> bool {
        let Timing { mrc, mrd, .. } = self.timing;
        mrc > 0 && self.sent >= mrc || mrd > 0 && now - self.began >= f64::from(mrd)
    }
    /// Moves on to the next time.
    fn advance(&mut self, kind: u8, now: f64) -> Option<Due> {
        if now < self.next {
            return None;
        }
        if self.is_over(now) {
            return Some(Due::GiveUp);
        }
        let Timing { irt, mrt, mrd, .. } = self.timing;
        if self.sent == 0 {
            self.began = now;
        }
        let first = f64::from(irt.max(1));
        let least = if kind == kind::SOLICIT { 1.0 } else { 0.9 };
        self.wait = match self.sent {
            // Never early for those that look for servers (section 18.2.1).
            0 => first * between(least, 1.1),
            _ => self.wait * between(1.9, 2.1),
        };
        if mrt > 0 && self.wait > f64::from(mrt) {
            self.wait = f64::from(mrt) * between(0.9, 1.1);
        }
        self.sent += 1;
        self.next = now + self.wait;
        if mrd > 0 {
            self.next = self.next.min(self.began + f64::from(mrd));
        }
        Some(Due::Send)
    }
}

/// Whether an exchange can begin.
///
/// # Errors
/// [`Error`].
pub fn check(router: &Router, key: Key, message: &Message) -> Result<(), Error> {
    router.interfaces.at(key.on).ok_or(Error::NoInterface)?;
    let is_clients = (kind::SOLICIT..=kind::INFORMATION_REQUEST).contains(&key.kind);
    if !is_clients || [kind::ADVERTISE, kind::REPLY, kind::REPLY + 3].contains(&key.kind) {
        return Err(Error::MessageKind(key.kind));
    }
    if message.leases.len() > MOST_LEASES {
        return Err(Error::TooManyLeases(MOST_LEASES));
    }
    if message.leases.iter().any(|lease| Ip6Prefix::new(lease.addr, lease.len).is_err()) {
        return Err(Error::LeaseLen);
    }
    let dhcp = router.own::<Dhcp6>();
    if let Some(server) = message.server
        && !dhcp.servers.contains_key(&server)
    {
        return Err(Error::NoSuchServer(server));
    }
    if dhcp.exchanges.len() >= MOST && !dhcp.exchanges.contains_key(&key) {
        return Err(Error::TooManyExchanges(MOST));
    }
    Ok(())
}

/// Begins an exchange, in place of another of its name.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn start(router: &mut Router, key: Key, message: Message, timing: Timing) -> Result<(), Error> {
    check(router, key, &message)?;
    let now = router.now();
    let dhcp = router.own_mut::<Dhcp6>();
    dhcp.exchanges.insert(key, Exchange::new(message, timing, now));
    advance(router, key);
    router.processes.signal(PROCESS[key.ia as usize], 0);
    Ok(())
}

/// Ends an exchange; whether there was one.
pub fn stop(router: &mut Router, key: Key) -> bool {
    router.own_mut::<Dhcp6>().exchanges.remove(&key).is_some()
}

/// Ends all exchanges of an interface for a kind of leases.
pub fn stop_all(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    router.own_mut::<Dhcp6>().exchanges.retain(|key, _| (key.ia, key.on) != (ia, on));
}

/// Sends due messages, and returns when the next one is.
pub fn look(router: &mut Router, ia: Ia) -> Wake {
    let all = router.own::<Dhcp6>().exchanges.keys().filter(|key| key.ia == ia);
    let all: Vec<_> = all.copied().collect();
    all.into_iter().for_each(|key| advance(router, key));
    let now = router.now();
    let rest = router.own::<Dhcp6>().exchanges.iter().filter(|(key, _)| key.ia == ia);
    match rest.map(|(_, exchange)| exchange.next - now).reduce(f64::min) {
        None => Wake::OnEvent,
        Some(seconds) => Wake::AfterOrEvent(Duration::from_secs_f64(seconds.max(0.0))),
    }
}

fn advance(router: &mut Router, key: Key) {
    let now = router.now();
    let Some(exchange) = router.own_mut::<Dhcp6>().exchanges.get_mut(&key) else { return };
    match exchange.advance(key.kind, now) {
        None => (),
        Some(Due::Send) if send(router, key, now) => (),
        // The exchange begins with the first message that could leave.
        Some(Due::Send) => {
            let exchange = router.own_mut::<Dhcp6>().exchanges.get_mut(&key);
            let is_first = |e: &&mut Exchange| e.sent == 1 && e.timing.mrd == 0;
            exchange.filter(is_first).into_iter().for_each(|exchange| exchange.sent = 0);
        }
        Some(Due::GiveUp) => {
            stop(router, key);
            client::failed(router, key);
        }
    }
}

/// Sends the message of an exchange, if its interface can send now; whether it does.
fn send(router: &mut Router, key: Key, now: f64) -> bool {
    let i = router.interfaces.at(key.on);
    let Some(i) = i.filter(|i| i.admin_up && i.link_up && i.kind == Kind::Ethernet) else {
        return false;
    };
    let mac = i.mac;
    let Some(source) = router.addresses.of(key.on).link_local else { return false };
    let client = duid(router);
    let dhcp = router.own_mut::<Dhcp6>();
    let id = dhcp.id_of((key.ia, key.on));
    let Some(exchange) = dhcp.exchanges.get(&key) else { return false };
    let Message { server, t1, t2, leases } = &exchange.message;
    let written = Written {
        header: Header { kind: key.kind, transaction: exchange.transaction },
        client: &client,
        server: server.and_then(|server| dhcp.servers.get(&server)).map(Vec::as_slice),
        elapsed: ((now - exchange.began) * 100.0).min(f64::from(u16::MAX)) as u16,
        ia: key.ia,
        association: (id, *t1, *t2),
        leases,
    };
    let ends = ((source, CLIENT_PORT), (SERVERS, SERVER_PORT));
    let Some(packet) = datagram6(ends.0, ends.1, &written.bytes()) else { return false };
    let front = ethernet::Header::new(MacAddr::for_ip6_group(SERVERS), mac, EtherType::IP6);
    let frame = [front.as_bytes(), &packet].concat();
    neighbor::send(router, key.on, frame);
    true
}

/// Takes an answer: programs that want answers get it, and the client whose it is.
///
/// # Errors
/// [`Lost`].
pub fn answered(router: &mut Router, arrived: &Arrived) -> Result<(), Lost> {
    let (header, _) = dhcp6::read(arrived.bytes()).ok_or(Lost::Malformed)?;
    if ![kind::ADVERTISE, kind::REPLY].contains(&header.kind) {
        return Err(Lost::Kind);
    }
    let on = InterfaceIndex(arrived.interface);
    let own = duid(router);
    let dhcp = router.own_mut::<Dhcp6>();
    let mut all = dhcp.exchanges.iter();
    let waits = |(key, exchange): &(&Key, &Exchange)| {
        key.on == on && exchange.transaction == header.transaction && exchange.sent > 0
    };
    let key = *all.find(waits).ok_or(Lost::NotAsked)?.0;
    if header.kind == kind::ADVERTISE && key.kind != kind::SOLICIT {
        return Err(Lost::Kind);
    }
    let id = dhcp.id_of((key.ia, on));
    let answer = Answer::read(arrived.bytes(), &own, key.ia, id)?;
    if answer.given.as_ref().is_some_and(|given| !given.is_in_order()) {
        return Err(Lost::Order);
    }
    let server = dhcp.server(&answer.server);
    api::tell(router, key, server, &answer);
    client::answered(router, key, server, &answer);
    Ok(())
}
