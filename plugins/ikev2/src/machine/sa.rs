//! An IKE association and its child SAs.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::ask::Request;
use super::parts::Parts;
use super::waiting::Waiting;
use crate::codec::{Id, Selector};
use crate::crypto::group::Private;
use crate::crypto::job::Job;
use crate::crypto::keys::{ChildKey, Hidden, Keys, Origin};
use crate::crypto::seal::Seal;
use crate::crypto::suite::{EspSuite, Suite};

/// Addresses and ports of the two ends of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Local address and port.
    pub local: (IpAddr, u16),
    /// The peer's address and port.
    pub remote: (IpAddr, u16),
    /// The routing table for packets to the peer.
    pub table: u16,
    /// The interface that received the last message.
    pub interface: u32,
    /// The node that received it, for counters.
    pub node: usize,
}

/// UDP port shared by IKE and encapsulated ESP.
pub const NATT_PORT: u16 = 4500;
/// UDP port of IKE.
pub const PORT: u16 = 500;

/// States of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// IKE_SA_INIT; the peer is not authenticated.
    Init,
    /// Both ends are authenticated.
    Established,
    /// Authentication failed.
    Failed,
    /// Rekeyed, and waiting to be deleted.
    Replaced,
    /// Deleted; retransmitted requests are still answered.
    Closing,
    /// To be removed.
    Dead,
}

/// Message counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Liveness checks.
    pub keepalives: u16,
    /// Rekey requests.
    pub rekeys: u16,
    /// IKE_SA_INIT requests.
    pub inits: u16,
    /// IKE_AUTH requests.
    pub auths: u16,
    /// Retransmitted requests.
    pub retransmits: u16,
    /// Retransmitted IKE_SA_INIT requests.
    pub init_retransmits: u16,
}

/// A child SA: a pair of ESP SAs.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// Number, unique among all child SAs.
    pub id: u32,
    /// Whether we initiated the exchange that created it.
    pub is_initiator: bool,
    /// Inbound SPI.
    pub spi_in: u32,
    /// Outbound SPI.
    pub spi_out: u32,
    /// Algorithms.
    pub suite: EspSuite,
    /// Keys from the exchange's initiator, and from its responder.
    pub keys: (ChildKey, ChildKey),
    /// Traffic of the exchange's initiator, and of its responder.
    pub ts: (Vec<Selector>, Vec<Selector>),
    /// Time of creation.
    pub born: f64,
    /// Time to rekey.
    pub rekey_at: f64,
    /// Time of removal, once it is replaced.
    pub goes_at: Option<f64>,
    /// Whether we have replaced it and so delete it.
    pub is_replaced_here: bool,
    /// Most of its numbers or bytes are used up: it is being replaced.
    pub is_spent: bool,
}

impl Child {
    /// SPIs of the exchange's initiator and of its responder.
    pub fn spis(&self) -> (u32, u32) {
        if self.is_initiator { (self.spi_in, self.spi_out) } else { (self.spi_out, self.spi_in) }
    }
}

/// An association.
pub struct Sa {
    /// Index in commands and API messages.
    pub index: u32,
    /// Whether we are the initiator.
    pub is_initiator: bool,
    /// SPIs of the initiator and of the responder.
    pub spis: (u64, u64),
    /// Name of the profile; empty while it is unknown.
    pub profile: String,
    /// Its ends.
    pub ends: Ends,
    /// Its state.
    pub state: State,
    /// Algorithms.
    pub suite: Option<Suite>,
    /// Keys.
    pub keys: Keys,
    /// Input that the keys were derived from.
    pub origin: Origin,
    /// Nonces of the latest key exchange, of its initiator and of its responder.
    pub nonces: (Vec<u8>, Vec<u8>),
    /// Outbound and inbound encryption.
    pub(super) seals: Option<(Seal, Seal)>,
    /// IKE_SA_INIT messages of the initiator and of the responder; authentication covers them.
    pub(super) first: (Vec<u8>, Vec<u8>),
    /// Identities of the initiator and of the responder.
    pub ids: (Option<Id>, Option<Id>),
    /// Message counts.
    pub stats: Stats,
    /// Time of creation.
    pub born: f64,
    /// Child SAs.
    pub children: Vec<Child>,
    /// Whether our address and the peer's address are translated.
    pub nat: (bool, bool),
    /// Hash algorithms that the peer supports for signatures.
    pub(super) hashes: Vec<u16>,
    /// Whether the peer supports fragmented messages.
    pub(super) takes_parts: bool,
    /// Message ID of our next request.
    pub(super) next_id: u32,
    /// The outstanding request.
    pub(super) request: Option<Request>,
    /// Requests queued behind it.
    pub(super) tasks: VecDeque<super::ask::Task>,
    /// Message ID of the peer's next request.
    pub(super) expected: u32,
    /// The last response, with its message ID.
    pub(super) answer: Option<(u32, Vec<Vec<u8>>)>,
    /// The running public-key computation.
    pub(super) waiting: Option<Waiting>,
    /// A computation that found no room, and the time of its next attempt.
    pub(super) put_off: Option<(f64, Job)>,
    /// Received fragments of a message.
    pub(super) parts: Parts,
    /// Time of the last message from the peer.
    pub(super) heard: f64,
    /// Time of the last message to the peer.
    pub(super) sent: f64,
    /// Time to rekey.
    pub(super) rekey_at: f64,
    /// Time of removal in any case.
    pub(super) goes_at: Option<f64>,
    /// Private value of the key exchange.
    pub(super) private: Option<Private>,
    /// The group of our IKE_SA_INIT request.
    pub(super) first_group: Option<crate::crypto::group::Group>,
    /// Public value of the key exchange.
    pub(super) public: Vec<u8>,
    /// The key of this association among those that are not proved.
    pub(super) half_open: Option<(u64, IpAddr)>,
    /// Own port and the other end of the request that is to prove an identity, where they are not
    /// those of the first message.
    pub(super) proved_from: Option<(u16, (IpAddr, u16))>,
    /// Whether the peer supports NAT detection.
    pub(super) has_nat_notify: bool,
    /// Cookie to return to the peer.
    pub(super) cookie: Vec<u8>,
    /// Number of IKE_SA_INIT requests so far.
    pub(super) tries: u32,
    /// Our SPI for the first child SA.
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
            put_off: None,
            parts: Parts::default(),
            heard: now,
            sent: now,
            rekey_at: f64::INFINITY,
            goes_at: None,
            private: None,
            first_group: None,
            public: Vec::new(),
            half_open: None,
            proved_from: None,
            has_nat_notify: false,
            cookie: Vec::new(),
            tries: 0,
            child_spi: 0,
        }
    }
    /// Our SPI.
    pub fn own_spi(&self) -> u64 {
        if self.is_initiator { self.spis.0 } else { self.spis.1 }
    }
    /// Whether commands and API messages list it.
    pub fn is_shown(&self) -> bool {
        !matches!(self.state, State::Closing | State::Dead)
    }
    /// Our identity and the peer's.
    pub fn own_ids(&self) -> (Option<&Id>, Option<&Id>) {
        let (i, r) = (self.ids.0.as_ref(), self.ids.1.as_ref());
        if self.is_initiator { (i, r) } else { (r, i) }
    }
    /// Derives the keys and sets up encryption; false if the lengths are wrong.
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
    /// Child SAs that have not been replaced.
    pub fn live(&self) -> impl Iterator<Item = &Child> {
        self.children.iter().filter(|child| child.goes_at.is_none())
    }
}
