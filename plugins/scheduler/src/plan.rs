//! Settings of a port: of control, and as nodes read them.

use std::str::FromStr;

use net::prelude::*;

use super::core::Core;
use super::red::Red;

/// Traffic classes of a pipe; 0 goes first.
pub const CLASSES: usize = 4;
/// Queues of a class.
pub const QUEUES: usize = 4;
/// Queues of a pipe.
pub const QUEUES_OF_PIPE: usize = CLASSES * QUEUES;
/// Colours.
pub const COLORS: usize = 3;
/// Numbers of classifications.
pub const MOST_TARGETS: usize = 256;
/// VLANs.
const VLANS: usize = 4096;
/// Time that a bucket holds unless it is said: threads wake up late by less.
const USUAL_BURST_S: f64 = 0.005;
/// Bytes that it holds at least.
const LEAST_BURST: f64 = 3036.0;

/// A rate, in bits a second; 0 for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("expected bits per second, such as 10m, not `{text}'");
        let unit = match text.bytes().last() {
            Some(b'k') => 1000,
            Some(b'm') => 1_000_000,
            Some(b'g') => 1_000_000_000,
            _ => 1,
        };
        let digits = if unit == 1 { text } else { &text[..text.len() - 1] };
        let number: u64 = digits.parse().map_err(|_| bad())?;
        number.checked_mul(unit).map(Self).ok_or_else(bad)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            n if n % 1_000_000_000 == 0 => write!(f, "{}g", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}m", n / 1_000_000),
            n if n % 1000 == 0 => write!(f, "{}k", n / 1000),
            n => write!(f, "{n}"),
        }
    }
}

/// A rate and the bytes that may go at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The rate.
    pub rate: Rate,
    /// Bytes; 0 for what the rate is in 5 ms.
    pub burst: u32,
}

impl Shape {
    /// Bytes a second, and bytes at once.
    pub fn in_bytes(&self) -> (f64, f64) {
        let rate = if self.rate.0 == 0 { f64::INFINITY } else { self.rate.0 as f64 / 8.0 };
        let burst = match self.burst {
            0 if rate.is_finite() => (rate * USUAL_BURST_S).max(LEAST_BURST),
            burst => f64::from(burst),
        };
        (rate, burst)
    }
}

/// Shapes of a subport or pipe, and of each of its classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Of all.
    pub shape: Shape,
    /// Rates of the classes.
    pub classes: [Rate; CLASSES],
}

/// Rates and queues of pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Rates.
    pub level: Level,
    /// Weights of the queues of each class.
    pub weights: [[u8; QUEUES]; CLASSES],
}

impl Default for Profile {
    fn default() -> Self {
        Self { level: Level::default(), weights: [[1; QUEUES]; CLASSES] }
    }
}

/// A class and one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The class.
    pub class: u8,
    /// The queue.
    pub queue: u8,
}

impl Default for Place {
    /// Best effort.
    fn default() -> Self {
        Self { class: 3, queue: 0 }
    }
}

/// A subport and a pipe of it.
pub type PipeId = (u16, u16);

/// Target of a number of the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Pipe.
    pub pipe: PipeId,
    /// Class and queue; those of the packet's mark if `None`.
    pub place: Option<Place>,
}

/// A pipe that there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pipe {
    /// Its number in the tables of the port.
    pub slot: u32,
    /// Number of its profile.
    pub profile: u32,
    /// Another one for each pipe that ever was.
    pub serial: u64,
}

/// The settings of a port.
#[derive(Clone, Debug)]
pub struct Config {
    /// The rate of the port.
    pub shape: Shape,
    /// Layer 1 overhead per packet in bytes.
    pub overhead: u32,
    /// Packets that a queue holds at most.
    pub queue_length: u32,
    /// Packets that all queues hold at most.
    pub packets: u32,
    /// Pipes at most.
    pub most_pipes: u32,
    /// Subports.
    pub subports: BTreeMap<u16, Level>,
    pub(super) pipes: BTreeMap<PipeId, Pipe>,
    /// Classes and queues by source of the mark and mark.
    pub map: Vec<[Place; 256]>,
    /// By numbers of the classifier.
    pub targets: BTreeMap<u32, Target>,
    /// By VLAN.
    pub vlans: BTreeMap<u16, PipeId>,
    /// The first table of the classifier.
    pub table: Option<u32>,
    /// Thresholds by class and colour.
    pub red: [[Option<Red>; COLORS]; CLASSES],
}

/// Settings of a pipe as nodes read them.
pub(super) struct PipePlan {
    pub serial: u64,
    pub subport: u32,
    pub profile: Profile,
}

/// Settings of a port as nodes read them.
pub(super) struct Plan {
    pub core: Arc<Core>,
    /// Another one with each change.
    pub generation: u64,
    pub shape: Shape,
    pub overhead: f64,
    pub queue_length: u32,
    /// Column of its first queue in counters.
    pub column: usize,
    pub subports: Vec<Level>,
    /// By slot.
    pub pipes: Vec<Option<PipePlan>>,
    pub map: Vec<[Place; 256]>,
    pub table: Option<u32>,
    targets: Vec<Option<(u32, Option<Place>)>>,
    vlans: Vec<u32>,
    /// Slot of what nothing else is said for.
    pub usual: u32,
    pub red: [[Option<Red>; COLORS]; CLASSES],
}

impl Plan {
    /// The plan of nodes for these settings.
    pub fn of(
        config: &Config,
        profiles: &BTreeMap<u32, Profile>,
        (core, column): (Arc<Core>, usize),
        generation: u64,
    ) -> Self {
        let slot = |id: &PipeId| config.pipes.get(id).map(|pipe| pipe.slot);
        let ids: Vec<u16> = config.subports.keys().copied().collect();
        let mut pipes: Vec<_> = (0..config.most_pipes).map(|_| None).collect();
        for ((subport, _), pipe) in &config.pipes {
            let subport = ids.binary_search(subport).unwrap_or_default() as u32;
            let profile = profiles.get(&pipe.profile).copied().unwrap_or_default();
            let plan = PipePlan { serial: pipe.serial, subport, profile };
            pipes[pipe.slot as usize] = Some(plan);
        }
        let usual = slot(&(0, 0)).unwrap_or(0);
        let mut vlans = vec![usual; VLANS];
        for (vlan, id) in &config.vlans {
            vlans[usize::from(*vlan)] = slot(id).unwrap_or(usual);
        }
        let target = |n: usize| {
            let target = config.targets.get(&(n as u32))?;
            Some((slot(&target.pipe)?, target.place))
        };
        Self {
            core,
            generation,
            shape: config.shape,
            overhead: config.overhead.into(),
            queue_length: config.queue_length,
            column,
            subports: config.subports.values().copied().collect(),
            pipes,
            map: config.map.clone(),
            table: config.table,
            targets: (0..MOST_TARGETS).map(target).collect(),
            vlans,
            usual,
            red: config.red,
        }
    }
    /// Slot, class and queue of a number of the classifier.
    #[inline(always)]
    pub fn target(&self, number: u32) -> Option<(u32, Option<Place>)> {
        *self.targets.get(number as usize)?
    }
    /// Slot of the pipe for a VLAN.
    #[inline(always)]
    pub fn of_vlan(&self, vlan: u16) -> u32 {
        self.vlans[usize::from(vlan) % VLANS]
    }
}

impl Place {
    /// The place among the queues of a pipe.
    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.class) * QUEUES + usize::from(self.queue)
    }
}
