//! All policies as nodes have them: published whole, so that a packet meets the old rules or the
//! new ones.

use std::sync::Arc;

use super::list::{Ready, Verdict};
use super::session::Timeouts;
use super::zone::{Pair, Zone};

/// Places for pairs of zones.
const PAIRS: usize = 64 * 64;

/// The treatment of traffic between two zones.
#[derive(Clone, Debug, Default)]
pub enum Between {
    /// Nothing passes but what belongs to sessions.
    #[default]
    Nothing,
    /// Everything passes, without sessions.
    All,
    /// As permitted by a policy.
    Policy(Arc<Ready>),
}

/// Global parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a connection may be taken up in the middle: without a SYN.
    pub takes_up: bool,
    /// Sessions of a version of IP on a thread at most.
    pub session_limit: u32,
    /// Timeouts of sessions.
    pub timeouts: Timeouts,
}

/// All policies, and what holds for all packets.
#[derive(Clone, Debug)]
pub struct Ruleset {
    /// Incremented with every change of the rules: older sessions are re-evaluated.
    pub generation: u32,
    /// Zones there are, as bits by number.
    pub zones: u64,
    /// Global parameters.
    pub options: Options,
    /// Names of zones by number, for traces.
    pub names: Vec<String>,
    between: Vec<Between>,
}

impl Default for Options {
    fn default() -> Self {
        let session_limit = super::session::MOST_SESSIONS as u32;
        Self { takes_up: false, session_limit, timeouts: Timeouts::default() }
    }
}

impl Ruleset {
    /// Without any policy.
    pub fn new(options: Options) -> Self {
        let (names, between) = (Vec::new(), vec![Between::Nothing; PAIRS]);
        Self { generation: 0, zones: 0, options, names, between }
    }
    /// The treatment of traffic between two zones.
    #[inline(always)]
    pub fn at(&self, pair: Pair) -> &Between {
        &self.between[pair.index() & (PAIRS - 1)]
    }
    /// The name of a zone.
    pub fn name(&self, zone: Zone) -> &str {
        self.names.get(usize::from(zone.0)).map_or("none", String::as_str)
    }
    /// Forgets all zones and what holds between them.
    pub(super) fn clear(&mut self) {
        self.names = vec!["none".to_owned(); 64];
        self.zones = 0;
        self.between.fill(Between::Nothing);
    }
    pub(super) fn add_zone(&mut self, zone: Zone, name: &str) {
        self.zones |= 1 << zone.0;
        if let Some(place) = self.names.get_mut(usize::from(zone.0)) {
            *place = name.to_owned();
        }
    }
    pub(super) fn set(&mut self, pair: Pair, between: Between) {
        self.between[pair.index()] = between;
    }
    /// Another state of the rules.
    #[must_use]
    pub(super) fn next(&self) -> Self {
        Self { generation: self.generation.wrapping_add(1), ..self.clone() }
    }
    /// The zones that sessions of a zone may be with.
    pub fn others(&self) -> impl Iterator<Item = Zone> {
        let zones = self.zones;
        (1..64).filter(move |n| zones >> n & 1 == 1).map(Zone)
    }
}

impl Between {
    /// The policy, if there is one.
    pub fn policy(&self) -> Option<&Ready> {
        match self {
            Self::Policy(policy) => Some(policy),
            _ => None,
        }
    }
    /// The verdict about a packet; `None` where no policy is.
    #[inline(always)]
    pub fn judge<V: acl::Matched>(&self, tuple: &V::Tuple) -> Option<Verdict> {
        self.policy().map(|policy| policy.judge::<V>(tuple))
    }
}
