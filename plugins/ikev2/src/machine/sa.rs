//! An IKE association and its children.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::ask::Request;
use super::parts::Parts;
use super::waiting::Waiting;
use crate::codec::{Id, Selector};
use crate::crypto::group::Private;
use crate::crypto::keys::{ChildKey, Hidden, Keys, Origin};
use crate::crypto::seal::Seal;
use crate::crypto::suite::{EspSuite, Suite};

/// The ends of an association, as datagrams have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Own address and port.
    pub local: (IpAddr, u16),
    /// The other end's.
    pub remote: (IpAddr, u16),
    /// The table that leads to it.
    pub table: u16,
    /// The interface that it came by.
    pub interface: u32,
    /// The node that it came by, for counters.
    pub node: usize,
}

/// Port of IKE over which ESP may travel as well.
pub const NATT_PORT: u16 = 4500;
/// Port of IKE.
pub const PORT: u16 = 500;

/// States of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Keys are exchanged, identities are not proved.
    Init,
    /// All is proved.
    Established,
    /// A proof was wrong.
    Failed,
    /// It was replaced, and waits for its deletion.
    Replaced,
    /// It is deleted; the other end may ask again.
    Closing,
    /// It goes.
    Dead,
}

/// Numbers of messages, for who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Signs of life.
    pub keepalives: u16,
    /// Requests to replace keys.
    pub rekeys: u16,
    /// First requests.
    pub inits: u16,
    /// Proofs of identity.
    pub auths: u16,
    /// Requests that came again.
    pub retransmits: u16,
    /// First requests that came again.
    pub init_retransmits: u16,
}

/// A child: a pair of associations of ESP.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// Its number, among all.
    pub id: u32,
    /// The exchange that made it began here.
    pub is_initiator: bool,
    /// SPI of what comes in, and of what goes out.
    pub spi_in: u32,
    /// SPI of what goes out.
    pub spi_out: u32,
    /// Algorithms.
    pub suite: EspSuite,
    /// Keys from who began the exchange, and from the other end.
    pub keys: (ChildKey, ChildKey),
    /// Traffic of who began the exchange, and of the other end.
    pub ts: (Vec<Selector>, Vec<Selector>),
    /// When it was made.
    pub born: f64,
    /// When it is to be replaced.
    pub rekey_at: f64,
    /// It was replaced, and goes then.
    pub goes_at: Option<f64>,
    /// It was replaced by us, who delete it.
    pub is_replaced_here: bool,
}

impl Child {
    /// SPIs as who began the exchange and the other end have them.
    pub fn spis(&self) -> (u32, u32) {
        if self.is_initiator { (self.spi_in, self.spi_out) } else { (self.spi_out, self.spi_in) }
    }
}

/// An association.
pub struct Sa {
    /// Its number, for who asks.
    pub index: u32,
    /// It began here.
    pub is_initiator: bool,
    /// Numbers of who began and of the other end.
    pub spis: (u64, u64),
    /// Name of the profile; empty while it is not known.
    pub profile: String,
    /// Its ends.
    pub ends: Ends,
    /// Its state.
    pub state: State,
    /// Algorithms.
    pub suite: Option<Suite>,
    /// Keys.
    pub keys: Keys,
    /// What the keys were made of.
    pub origin: Origin,
    /// Nonces of the last exchange that had some, of who began it and of the other end.
    pub nonces: (Vec<u8>, Vec<u8>),
    /// Sealing and opening.
    pub(super) seals: Option<(Seal, Seal)>,
    /// First messages of who began and of the other end, which are proved.
    pub(super) first: (Vec<u8>, Vec<u8>),
    /// Identities of who began and of the other end.
    pub ids: (Option<Id>, Option<Id>),
    /// Counts of messages.
    pub stats: Stats,
    /// When it was made.
    pub born: f64,
    /// Its children.
    pub children: Vec<Child>,
    /// Own address and the other end's are translated.
    pub nat: (bool, bool),
    /// Hashes that the other end has for signatures.
    pub(super) hashes: Vec<u16>,
    /// The other end takes messages in parts.
    pub(super) takes_parts: bool,
    /// Number of the next request.
    pub(super) next_id: u32,
    /// The request that is not answered.
    pub(super) request: Option<Request>,
    /// Requests that wait for that.
    pub(super) tasks: VecDeque<super::ask::Task>,
    /// Number of the next request of the other end.
    pub(super) expected: u32,
    /// The last answer, with its number.
    pub(super) answer: Option<(u32, Vec<Vec<u8>>)>,
    /// Public-key work under way.
    pub(super) waiting: Option<Waiting>,
    /// Parts of a message that came.
    pub(super) parts: Parts,
    /// When the other end was heard.
    pub(super) heard: f64,
    /// When something was sent.
    pub(super) sent: f64,
    /// When it is to be replaced.
    pub(super) rekey_at: f64,
    /// When it goes, whatever it waits for.
    pub(super) goes_at: Option<f64>,
    /// Private value of the key exchange.
    pub(super) private: Option<Private>,
    /// The group of the first message, and its public value.
    pub(super) first_group: Option<crate::crypto::group::Group>,
    /// Public value of the key exchange.
    pub(super) public: Vec<u8>,
    /// The other end looks for translators.
    pub(super) has_nat_notify: bool,
    /// Cookie to be sent back.
    pub(super) cookie: Vec<u8>,
    /// First messages made so far.
    pub(super) tries: u32,
    /// Number of ours for the first child.
    pub(super) child_spi: u32,
}

impl Sa {
    pub(super) fn new(index: u32, is_initiator: bool, ends: Ends, now: f64) -> Self {
        Self {
            index,
            is_initiator,
            spis: (0, 0),
            profile: String::new(),
            ends,
            state: State::Init,
            suite: None,
            keys: Keys::default(),
            origin: Origin::default(),
            nonces: (Vec::new(), Vec::new()),
            seals: None,
            first: (Vec::new(), Vec::new()),
            ids: (None, None),
            stats: Stats::default(),
            born: now,
            children: Vec::new(),
            nat: (false, false),
            hashes: Vec::new(),
            takes_parts: false,
            next_id: 0,
            request: None,
            tasks: VecDeque::new(),
            expected: 0,
            answer: None,
            waiting: None,
            parts: Parts::default(),
            heard: now,
            sent: now,
            rekey_at: f64::INFINITY,
            goes_at: None,
            private: None,
            first_group: None,
            public: Vec::new(),
            has_nat_notify: false,
            cookie: Vec::new(),
            tries: 0,
            child_spi: 0,
        }
    }
    /// Own number.
    pub fn own_spi(&self) -> u64 {
        if self.is_initiator { self.spis.0 } else { self.spis.1 }
    }
    /// Whether operators see it.
    pub fn is_shown(&self) -> bool {
        !matches!(self.state, State::Closing | State::Dead)
    }
    /// Own identity and the other end's.
    pub fn own_ids(&self) -> (Option<&Id>, Option<&Id>) {
        let (i, r) = (self.ids.0.as_ref(), self.ids.1.as_ref());
        if self.is_initiator { (i, r) } else { (r, i) }
    }
    /// Makes keys and what seals with them; whether they fit.
    pub(super) fn make_keys(&mut self, old: Option<(u16, &Hidden)>, is_whole: bool) -> bool {
        let Some(suite) = self.suite else { return false };
        self.origin.spis = self.spis;
        self.nonces = self.origin.nonces.clone();
        self.keys = Keys::new(&suite, &self.origin, old, is_whole);
        let initiator = Seal::new(&suite, &self.keys.ei, &self.keys.ai);
        let responder = Seal::new(&suite, &self.keys.er, &self.keys.ar);
        self.seals = match (initiator, responder) {
            (Some(i), Some(r)) => Some(if self.is_initiator { (i, r) } else { (r, i) }),
            _ => None,
        };
        self.seals.is_some()
    }
    /// The child that is used, of those that replace one another.
    pub fn live(&self) -> impl Iterator<Item = &Child> {
        self.children.iter().filter(|child| child.goes_at.is_none())
    }
}
