//! State machine of IKEv2 (RFC 7296), without I/O: it takes messages and the time, and returns
//! actions. A public-key computation is an action too; its result is passed in later.

mod again;
mod ask;
mod auth;
mod begin;
mod child;
mod cookie;
mod exchange;
mod inform;
mod parts;
mod profile;
mod prove;
mod rekey;
mod replace;
mod sa;
mod time;
mod waiting;

use std::collections::HashSet;
use std::collections::hash_map::Entry;

use net::prelude::*;
use wire::ip::source_of;

pub use again::Silent;
pub use profile::{At, Auth, Lifetime, Profile, Responder, on_wire};
pub use sa::{Child, Ends, NATT_PORT, PORT, Sa, State, Stats};

use ask::{Ask, Task};
use cookie::Cookies;
use waiting::Waiting;

use crate::codec::{Content, Flaw, Header, Selector, begins};
use crate::crypto::certificate::Certificate;
use crate::crypto::group::{Group, Private};
use crate::crypto::job::{Done, Job};
use crate::crypto::keys::ChildKey;
use crate::crypto::signature::PrivateKey;
use crate::crypto::suite::EspSuite;

/// Number of unauthenticated associations from which on cookies are required.
const HALF_OPEN_COOKIES: usize = 100;
/// Limit of unauthenticated associations.
pub const MOST_HALF_OPEN: usize = 4096;
/// The same for one source.
const SOURCE_COOKIES: usize = 8;
/// At most.
const MOST_OF_SOURCE: usize = 64;
/// Reason why an exchange is refused: numbers that are not random would give its keys away.
const NO_RANDOM: &str = "no random numbers are available";
/// Limit of associations.
pub const MOST: usize = 65536;
/// How far the ID of a request may be ahead: some peers, VPP among them, do not count from 0.
const AHEAD: u32 = 8;

/// Events counted at the node that received the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// A malformed message.
    Malformed,
    /// A retransmitted IKE_SA_INIT request.
    InitRetransmit,
    /// An ignored IKE_SA_INIT request.
    InitIgnored,
    /// A retransmitted request.
    Retransmit,
    /// An ignored request, such as one of an unknown association.
    Ignored,
    /// A rekey request.
    Rekey,
    /// An IKE_SA_INIT request.
    Init,
    /// An IKE_AUTH request.
    Auth,
    /// A liveness check.
    Keepalive,
}

/// Parameters for installing a child SA.
#[derive(Clone, Debug)]
pub struct Install {
    /// Number of the child SA.
    pub child: u32,
    /// Profile.
    pub profile: String,
    /// Ends of the IKE association.
    pub ends: Ends,
    /// Whether ESP is encapsulated in UDP.
    pub has_udp: bool,
    /// Inbound and outbound SPI.
    pub spis: (u32, u32),
    /// Algorithms.
    pub suite: EspSuite,
    /// Inbound and outbound keys.
    pub keys: (ChildKey, ChildKey),
    /// Traffic selectors of this end and of the peer.
    pub ts: (Vec<Selector>, Vec<Selector>),
    /// The child SA that it replaces.
    pub replaces: Option<u32>,
    /// Whether the peer has already installed it, so that it can send at once.
    pub is_ready: bool,
}

/// An action that the state machine asks for.
#[derive(Debug)]
pub enum Act {
    /// Send a message.
    Send(Ends, Vec<u8>),
    /// Send a NAT keepalive (RFC 3948).
    Keepalive(Ends),
    /// Run a public-key computation for an association; the source of an unauthenticated one.
    Compute(u32, Job, Option<IpAddr>),
    /// Install a child SA.
    Install(Box<Install>),
    /// Remove a child SA.
    Remove(u32),
    /// Count an event at the given node.
    Count(usize, Noted),
    /// Write a line to the log.
    Log(String),
}

/// Settings for all associations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether silent peers are checked.
    pub asks_silent: bool,
    /// Seconds of silence before a check.
    pub period: u32,
    /// Number of checks.
    pub retries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { asks_silent: true, period: 30, retries: 3 }
    }
}

/// The state machine of all associations.
pub struct Machine {
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Settings.
    pub settings: Settings,
    /// Local private key.
    pub key: Option<Arc<PrivateKey>>,
    /// Local certificate, and those between it and an authority.
    pub certificates: Vec<Certificate>,
    sas: BTreeMap<u32, Sa>,
    by_spi: HashMap<u64, u32>,
    /// Unauthenticated associations, by SPI and address of the initiator.
    by_peer: HashMap<(u64, IpAddr), u32>,
    /// How many of these there are by source.
    by_source: HashMap<IpAddr, usize>,
    /// Peers that became silent, by profile.
    silent: BTreeMap<String, Silent>,
    /// Numbers of ours of all children.
    child_spis: HashSet<u32>,
    next: u32,
    next_child: u32,
    cookies: Cookies,
    /// Key exchange values generated in advance, by group.
    spares: HashMap<u16, (Private, Vec<u8>)>,
    acts: Vec<Act>,
    random: fn(&mut [u8]) -> bool,
}

/// First job number that is no association's: jobs that generate values in advance.
const SPARE: u32 = 0xffff_0000;

impl Machine {
    /// Creates a machine without associations; `random` fills in random bytes.
    pub fn new(random: fn(&mut [u8]) -> bool) -> Self {
        Self {
            profiles: BTreeMap::new(),
            settings: Settings::default(),
            key: None,
            certificates: Vec::new(),
            sas: BTreeMap::new(),
            by_spi: HashMap::new(),
            by_peer: HashMap::new(),
            by_source: HashMap::new(),
            silent: BTreeMap::new(),
            child_spis: HashSet::new(),
            next: 0,
            next_child: 0,
            cookies: Cookies::default(),
            spares: HashMap::new(),
            acts: Vec::new(),
            random,
        }
    }
    /// Takes the pending actions, in order.
    pub fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }
    /// All associations, the newest first.
    pub fn sas(&self) -> impl Iterator<Item = &Sa> {
        self.sas.values().rev().filter(|sa| sa.is_shown())
    }
    /// The association with the given index.
    pub fn sa(&self, index: u32) -> Option<&Sa> {
        self.sas.get(&index).filter(|sa| sa.is_shown())
    }
    /// Associations whose other end has proved nothing yet.
    pub fn half_open(&self) -> usize {
        self.by_peer.len()
    }
    /// Whether there are no associations and no pending work.
    pub fn is_idle(&self) -> bool {
        self.sas.is_empty() && self.silent.is_empty()
    }
    /// Handles a received message.
    pub fn receive(&mut self, now: f64, ends: Ends, bytes: &[u8]) {
        let Ok(header) = Header::read(bytes) else {
            return self.count(ends.node, Noted::Malformed);
        };
        if begins(&header) {
            return self.take_init(now, ends, &header, bytes);
        }
        let found = [header.spi_i, header.spi_r].into_iter().find_map(|spi| {
            let index = *self.by_spi.get(&spi)?;
            let sa = self.sas.get(&index)?;
            let is_other = |own: u64, other: u64| own == 0 || own == other;
            let is_it = if sa.is_initiator {
                sa.spis.0 == header.spi_i && is_other(sa.spis.1, header.spi_r)
            } else {
                sa.spis == (header.spi_i, header.spi_r)
            };
            is_it.then_some(index)
        });
        let Some(index) = found else { return self.count(ends.node, Noted::Ignored) };
        self.drive(index, |machine, sa| machine.dispatch(now, sa, ends, (&header, bytes)));
    }
    fn dispatch(&mut self, now: f64, sa: &mut Sa, ends: Ends, message: (&Header, &[u8])) {
        let (header, bytes) = message;
        let content = match Content::read(header.next, bytes.get(28..).unwrap_or_default()) {
            Ok(content) => content,
            Err(Flaw::Critical(_)) => return self.count(ends.node, Noted::Ignored),
            Err(_) => return self.count(ends.node, Noted::Malformed),
        };
        if sa.seals.is_none() {
            return self.take_begun(now, sa, ends, (header, bytes), &content);
        }
        let Some(plain) = Self::open(sa, header, bytes, &content) else {
            return self.count(ends.node, Noted::Ignored);
        };
        sa.ends.node = ends.node;
        let Some(plain) = plain else { return };
        match header.is_response() {
            true => self.take_response(now, sa, header, plain),
            false => {
                Self::follow(sa, &ends, header);
                self.take_request(now, sa, header, plain);
            }
        }
    }
    /// Generates a key exchange value in advance for a slow group, so that associations start at
    /// once.
    pub fn prepare(&mut self, group: Group) {
        let number = group.number();
        if group.is_slow() && !self.spares.contains_key(&number) {
            self.acts.push(Act::Compute(SPARE | u32::from(number), Job::Generate(group), None));
        }
    }
    /// Responses follow the source of new requests: the initiator may change to the other port, and
    /// a NAT may change its mapping (section 2.23). An unauthenticated association keeps its
    /// address.
    fn follow(sa: &mut Sa, ends: &Ends, header: &Header) {
        let is_same = sa.ends.remote.0 == ends.remote.0;
        let may_move = sa.nat.1 && !sa.nat.0;
        if header.id < sa.expected || sa.is_initiator || !(is_same || may_move) {
            return;
        }
        let to = (ends.local.1, ends.remote);
        match sa.state {
            State::Init if !is_same => sa.proved_from = Some(to),
            _ => (sa.ends.local.1, sa.ends.remote) = to,
        }
    }
    /// Handles the result of a public-key computation.
    pub fn done(&mut self, now: f64, index: u32, done: Done) {
        if index >= SPARE {
            if let Done::Generated(private, public) = done {
                self.spares.insert(index as u16, (private, public));
            }
            return;
        }
        self.drive(index, |machine, sa| {
            let Some(waiting) = sa.waiting.take() else { return };
            match done {
                Done::Busy(job) => machine.put_off(now, sa, waiting, *job),
                done => machine.go_on(now, sa, waiting, done),
            }
            machine.ask_next(now, sa);
        });
    }
    fn go_on(&mut self, now: f64, sa: &mut Sa, waiting: Waiting, done: Done) {
        match waiting {
            Waiting::Begin => self.send_init(now, sa, done),
            Waiting::Begun => self.prove_first(now, sa, done),
            Waiting::Answer { proposal } => self.answer_init(now, sa, proposal, done),
            Waiting::ProveFirst => self.send_auth(now, sa, done),
            Waiting::Check(id, plain) => self.checked(now, sa, (id, plain), &done),
            Waiting::Prove(id, plain) => self.proved(now, sa, (id, plain), done),
            Waiting::CheckAnswer(plain) => self.checked_answer(now, sa, &plain, &done),
            Waiting::Child(id, plain) => self.answer_child(now, sa, (id, plain), Some(done)),
            Waiting::Replace => self.send_rekey(now, sa, done),
            Waiting::Replaced(ask, plain) => self.replaced(now, sa, ask, &plain, done),
            Waiting::ReplaceAnswer(id, plain) => self.answer_rekey(now, sa, (id, plain), done),
        }
    }
    /// Runs `work` on an association and removes the association if it is dead afterwards.
    fn drive(&mut self, index: u32, work: impl FnOnce(&mut Self, &mut Sa)) {
        let Some(mut sa) = self.sas.remove(&index) else { return };
        work(self, &mut sa);
        if sa.state == State::Dead {
            self.bury(&mut sa);
        } else {
            self.sas.insert(index, sa);
        }
    }
    fn bury(&mut self, sa: &mut Sa) {
        self.drop_children(sa);
        self.by_spi.remove(&sa.own_spi());
        self.forget_rekey(sa);
        self.forget_half_open(sa);
    }
    fn drop_children(&mut self, sa: &mut Sa) {
        for child in sa.children.drain(..) {
            self.child_spis.remove(&child.spi_in);
            self.acts.push(Act::Remove(child.id));
        }
    }
    fn note_half_open(&mut self, sa: &mut Sa) {
        let key = (sa.spis.0, sa.ends.remote.0);
        sa.half_open = Some(key);
        self.by_peer.insert(key, sa.index);
        *self.by_source.entry(source_of(key.1)).or_default() += 1;
    }
    fn forget_half_open(&mut self, sa: &mut Sa) {
        let Some(key) = sa.half_open.take() else { return };
        self.by_peer.remove(&key);
        if let Entry::Occupied(mut of) = self.by_source.entry(source_of(key.1)) {
            *of.get_mut() -= 1;
            if *of.get() == 0 {
                of.remove();
            }
        }
    }
    /// Forgets a replacement that is under way, and its number.
    fn forget_rekey(&mut self, sa: &mut Sa) {
        let asked = sa.request.take_if(|r| matches!(r.ask, Ask::Rekey { .. })).map(|r| r.ask);
        let answered = match sa.waiting.take() {
            Some(Waiting::Replaced(ask, _)) => Some(ask),
            _ => None,
        };
        for ask in [asked, answered].into_iter().flatten() {
            if let Ask::Rekey { spi, .. } = ask {
                self.by_spi.remove(&spi);
            }
        }
    }
    fn count(&mut self, node: usize, what: Noted) {
        self.acts.push(Act::Count(node, what));
    }
    fn log(&mut self, text: String) {
        self.acts.push(Act::Log(text));
    }
    fn compute(&mut self, sa: &mut Sa, job: Job, waiting: Waiting) {
        sa.waiting = Some(waiting);
        let is_stranger = sa.state == State::Init && !sa.is_initiator;
        let from = is_stranger.then(|| source_of(sa.ends.remote.0));
        self.acts.push(Act::Compute(sa.index, job, from));
    }
    /// A new SPI for an association, unique among ours.
    fn new_spi(&mut self, index: u32) -> Option<u64> {
        for _ in 0..8 {
            let mut bytes = [0; 8];
            (self.random)(&mut bytes).then_some(())?;
            let spi = u64::from_be_bytes(bytes);
            if spi != 0 && !self.by_spi.contains_key(&spi) {
                self.by_spi.insert(spi, index);
                return Some(spi);
            }
        }
        None
    }
    /// A new SPI for a child SA, unique among ours.
    fn new_child_spi(&mut self) -> Option<u32> {
        for _ in 0..8 {
            let mut bytes = [0; 4];
            (self.random)(&mut bytes).then_some(())?;
            let spi = u32::from_be_bytes(bytes) | 0x8000_0000;
            if !self.child_spis.contains(&spi) {
                return Some(spi);
            }
        }
        None
    }
    fn nonce(&mut self) -> Option<Vec<u8>> {
        let mut nonce = vec![0; 32];
        (self.random)(&mut nonce).then_some(nonce)
    }
    fn find_child(&self, is_it: impl Fn(&Child) -> bool) -> Option<(u32, u32)> {
        self.sas().find_map(|sa| {
            let child = sa.live().find(|child| is_it(child))?;
            Some((sa.index, child.id))
        })
    }
    /// The association and the child SA with the given initiator SPI.
    pub fn child_of_spi(&self, spi: u32) -> Option<(u32, u32)> {
        let by = |spi: u32| self.find_child(|child| child.spis().0 == spi);
        by(spi.swap_bytes()).or_else(|| by(spi))
    }
    /// The association with the given initiator SPI, in either byte order.
    pub fn sa_of_spi(&self, spi: u64) -> Option<u32> {
        let by = |spi: u64| self.sas().find(|sa| sa.spis.0 == spi).map(|sa| sa.index);
        by(spi.swap_bytes()).or_else(|| by(spi))
    }
    /// Rekeys a child SA.
    pub fn rekey_child(&mut self, now: f64, (index, child): (u32, u32)) {
        self.demand(now, index, Task::RekeyChild(child));
    }
    /// Deletes a child SA.
    pub fn delete_child(&mut self, now: f64, (index, child): (u32, u32)) {
        self.demand(now, index, Task::DeleteChild(child));
    }
    /// Deletes a child that could not be installed, so that the other end knows.
    pub fn reject_child(&mut self, now: f64, child: u32) {
        let of = self.sas().find(|sa| sa.children.iter().any(|c| c.id == child));
        if let Some(index) = of.map(|sa| sa.index) {
            self.delete_child(now, (index, child));
        }
    }
    /// Rekeys child SAs whose sequence numbers or bytes are nearly used up.
    pub fn replace_spent(&mut self, now: f64, spent: &[u32]) {
        if spent.is_empty() {
            return;
        }
        for child in self.sas.values_mut().flat_map(|sa| &mut sa.children) {
            if !child.is_spent && spent.contains(&child.id) {
                child.is_spent = true;
                child.rekey_at = now;
            }
        }
    }
    /// Rekeys an association.
    pub fn rekey(&mut self, now: f64, index: u32) {
        self.demand(now, index, Task::Rekey);
    }
    /// Deletes an association; its child SAs are removed at once.
    pub fn delete(&mut self, now: f64, index: u32) {
        self.drive(index, |machine, sa| {
            machine.silent.remove(&sa.profile);
            machine.say_delete(now, sa);
        });
    }
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
