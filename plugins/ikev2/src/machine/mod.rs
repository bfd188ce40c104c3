//! The state machine of IKEv2 (RFC 7296), without input and output: messages and time come in,
//! messages and acts go out. Public-key work is an act as well, whose result comes in later.

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

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

pub use profile::{At, Auth, Lifetime, Profile, Responder, on_wire};
pub use sa::{Child, Ends, NATT_PORT, PORT, Sa, State, Stats};

use crate::codec::{Content, Flaw, Header, begins};
use crate::crypto::certificate::Certificate;
use crate::crypto::group::{Group, Private};
use crate::crypto::job::{Done, Job};
use crate::crypto::keys::ChildKey;
use crate::crypto::signature::PrivateKey;
use crate::crypto::suite::EspSuite;
use ask::Task;
use cookie::Cookies;
use waiting::Waiting;

/// Associations that are not proved yet from which on cookies are asked for, and at most.
const HALF_OPEN_COOKIES: usize = 100;
/// At most.
const MOST_HALF_OPEN: usize = 4096;
/// Associations at most.
pub const MOST: usize = 65536;
/// Numbers that requests may be ahead: some peers, the original among them, do not count from 0.
const AHEAD: u32 = 8;

/// What is counted at the node that a message came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// A message that is none.
    Malformed,
    /// A first request came again.
    InitRetransmit,
    /// A first request that is not for us.
    InitIgnored,
    /// A request came again.
    Retransmit,
    /// A request that nobody sent us.
    Ignored,
    /// Keys are to be replaced.
    Rekey,
    /// An association begins.
    Init,
    /// An identity is proved.
    Auth,
    /// A sign of life.
    Keepalive,
}

/// A child, for who installs it.
#[derive(Clone, Debug)]
pub struct Install {
    /// Its number.
    pub child: u32,
    /// Profile.
    pub profile: String,
    /// Ends of the IKE association.
    pub ends: Ends,
    /// Whether ESP is over UDP.
    pub has_udp: bool,
    /// SPIs of what comes in and of what goes out.
    pub spis: (u32, u32),
    /// Algorithms.
    pub suite: EspSuite,
    /// Keys of what comes in and of what goes out.
    pub keys: (ChildKey, ChildKey),
    /// The child whose place it takes.
    pub replaces: Option<u32>,
    /// Whether the other end has it already, so that packets may be sealed with it at once.
    pub is_ready: bool,
}

/// Something to be done for the machine.
#[derive(Debug)]
pub enum Act {
    /// Send a message.
    Send(Ends, Vec<u8>),
    /// Send a byte by which a translator knows that it is still needed (RFC 3948).
    Keepalive(Ends),
    /// Do public-key work for an association.
    Compute(u32, Job),
    /// Install a child.
    Install(Box<Install>),
    /// A child goes.
    Remove(u32),
    /// Count at the node of these ends.
    Count(usize, Noted),
    /// Something an operator should know.
    Log(String),
}

/// Settings of all associations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether ends that are silent are asked.
    pub asks_silent: bool,
    /// Seconds of silence.
    pub period: u32,
    /// How often they are asked.
    pub retries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { asks_silent: true, period: 30, retries: 3 }
    }
}

/// The machine: all associations.
pub struct Machine {
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Settings.
    pub settings: Settings,
    /// Own private key.
    pub key: Option<Arc<PrivateKey>>,
    /// Own certificate, and those between it and an authority.
    pub certificates: Vec<Certificate>,
    sas: BTreeMap<u32, Sa>,
    by_spi: HashMap<u64, u32>,
    /// Associations that are not proved, by number and address of who began them.
    by_peer: HashMap<(u64, IpAddr), u32>,
    next: u32,
    next_child: u32,
    cookies: Cookies,
    /// Values made ahead for first messages, by group.
    spares: HashMap<u16, (Private, Vec<u8>)>,
    acts: Vec<Act>,
    random: fn(&mut [u8]) -> bool,
}

/// Numbers of no associations: of values made ahead for a group.
const SPARE: u32 = 0xffff_0000;

impl Machine {
    /// A machine without associations, and a source of random bytes.
    pub fn new(random: fn(&mut [u8]) -> bool) -> Self {
        Self {
            profiles: BTreeMap::new(),
            settings: Settings::default(),
            key: None,
            certificates: Vec::new(),
            sas: BTreeMap::new(),
            by_spi: HashMap::new(),
            by_peer: HashMap::new(),
            next: 0,
            next_child: 0,
            cookies: Cookies::default(),
            spares: HashMap::new(),
            acts: Vec::new(),
            random,
        }
    }
    /// What is to be done, in order.
    pub fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }
    /// All associations, the youngest first.
    pub fn sas(&self) -> impl Iterator<Item = &Sa> {
        self.sas.values().rev().filter(|sa| sa.is_shown())
    }
    /// The association of a number.
    pub fn sa(&self, index: u32) -> Option<&Sa> {
        self.sas.get(&index).filter(|sa| sa.is_shown())
    }
    /// Whether there is nothing to look after.
    pub fn is_idle(&self) -> bool {
        self.sas.is_empty()
    }
    /// Takes a message.
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
        sa.heard = now;
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
    /// Has a value made ahead for a group whose values take long, so that an association begins at
    /// once.
    pub fn prepare(&mut self, group: Group) {
        let number = group.number();
        if group.is_slow() && !self.spares.contains_key(&number) {
            self.acts.push(Act::Compute(SPARE | u32::from(number), Job::Generate(group)));
        }
    }
    /// Answers go to where a new request came from: who began may move to the other port, and a
    /// translator may change its mind (section 2.23).
    fn follow(sa: &mut Sa, ends: &Ends, header: &Header) {
        let is_same = sa.ends.remote.0 == ends.remote.0;
        let may_move = sa.nat.1 && !sa.nat.0;
        if header.id >= sa.expected && !sa.is_initiator && (is_same || may_move) {
            (sa.ends.local.1, sa.ends.remote) = (ends.local.1, ends.remote);
        }
    }
    /// Public-key work of an association is done.
    pub fn done(&mut self, now: f64, index: u32, done: Done) {
        if index >= SPARE {
            if let Done::Generated(private, public) = done {
                self.spares.insert(index as u16, (private, public));
            }
            return;
        }
        self.drive(index, |machine, sa| {
            let Some(waiting) = sa.waiting.take() else { return };
            machine.go_on(now, sa, waiting, done);
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
    /// Lets `work` at an association; one that it leaves dead goes.
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
        self.forget_half_open(sa);
    }
    fn drop_children(&mut self, sa: &mut Sa) {
        self.acts.extend(sa.children.drain(..).map(|child| Act::Remove(child.id)));
    }
    fn forget_half_open(&mut self, sa: &Sa) {
        if !sa.is_initiator {
            let key = (sa.spis.0, sa.ends.remote.0);
            if self.by_peer.get(&key) == Some(&sa.index) {
                self.by_peer.remove(&key);
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
        self.acts.push(Act::Compute(sa.index, job));
    }
    /// A number for an association that no other one has here.
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
    /// A number for a child.
    fn new_child_spi(&mut self) -> u32 {
        let mut bytes = [0; 4];
        let _ = (self.random)(&mut bytes);
        u32::from_be_bytes(bytes) | 0x8000_0000
    }
    fn nonce(&mut self) -> Vec<u8> {
        let mut nonce = vec![0; 32];
        let _ = (self.random)(&mut nonce);
        nonce
    }
    fn find_child(&self, is_it: impl Fn(&Child) -> bool) -> Option<(u32, u32)> {
        self.sas().find_map(|sa| {
            let child = sa.live().find(|child| is_it(child))?;
            Some((sa.index, child.id))
        })
    }
    /// The association and the child whose SPI of who began it is this one.
    pub fn child_of_spi(&self, spi: u32) -> Option<(u32, u32)> {
        let by = |spi: u32| self.find_child(|child| child.spis().0 == spi);
        by(spi.swap_bytes()).or_else(|| by(spi))
    }
    /// The association whose number of who began it is this one, in either order of bytes.
    pub fn sa_of_spi(&self, spi: u64) -> Option<u32> {
        let by = |spi: u64| self.sas().find(|sa| sa.spis.0 == spi).map(|sa| sa.index);
        by(spi.swap_bytes()).or_else(|| by(spi))
    }
    /// Has a child be replaced.
    pub fn rekey_child(&mut self, now: f64, (index, child): (u32, u32)) {
        self.demand(now, index, Task::RekeyChild(child));
    }
    /// Has a child be deleted.
    pub fn delete_child(&mut self, now: f64, (index, child): (u32, u32)) {
        self.demand(now, index, Task::DeleteChild(child));
    }
    /// Has an association be replaced.
    pub fn rekey(&mut self, now: f64, index: u32) {
        self.demand(now, index, Task::Rekey);
    }
    /// Has an association be deleted: its children go at once.
    pub fn delete(&mut self, now: f64, index: u32) {
        self.drive(index, |machine, sa| machine.say_delete(now, sa));
    }
}

#[cfg(test)]
mod tests;
