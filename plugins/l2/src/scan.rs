//! Looking through the learned addresses, slice by slice: forgetting what is old or flushed,
//! telling a client what was learned, moved or forgotten, and growing the table.

use control::process::Event;
use infra::table::exact::Verdict;
use net::prelude::*;

use super::api;
use super::fib::{self, Entry};
use super::mac_messages::{MacEntry, MacEventAction};
use super::macs::{self, Gone};
use super::state::Bridging;

const NAME: &str = "l2fib-mac-age-scanner-process";
/// Buckets that are looked through at a time.
const SLICE: usize = 1024;
/// Seconds that slices go on until others have their turn.
const TURN: f64 = 0.001;
/// Between two turns.
const PAUSE: Duration = Duration::from_millis(1);
/// Between two passes without a client.
const AGEING: Duration = Duration::from_secs(10);
/// Signals: something is to be forgotten soon, or the table is to grow.
const SOON: u64 = 1;
const LOOK: u64 = 0;

/// A client that gets events about addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Index.
    pub client: u32,
    /// Number given back with each event.
    pub pid: u32,
    /// Addresses of an event at most.
    pub most: usize,
}

/// The position of a scan.
#[derive(Debug)]
pub struct Scan {
    /// The next bucket of a pass.
    at: Option<usize>,
    /// Another pass is wanted.
    is_due: bool,
    /// Hundredths of a second between two passes for a client.
    pub delay: u16,
    /// Client that gets the events.
    pub client: Option<Client>,
    /// Addresses to be taken out; those that this pass began with are out when it is over.
    pub gone: Vec<Gone>,
    pub(super) taken: usize,
    /// Events still to be sent.
    waiting: Vec<MacEntry>,
    /// Seconds that the last pass took.
    pub last: f64,
    started: f64,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            at: None,
            is_due: false,
            delay: 10,
            client: None,
            gone: Vec::new(),
            taken: 0,
            waiting: Vec::new(),
            last: 0.0,
            started: 0.0,
        }
    }
}

/// Starts the process.
pub(crate) fn spawn(router: &mut Router) {
    router.processes.spawn(NAME, Box::new(run));
}

/// Wakes the process.
pub(crate) fn wake(router: &mut Router) {
    router.processes.signal(NAME, LOOK);
}

/// Deletes flushed entries soon.
pub(crate) fn soon(router: &mut Router) {
    router.processes.signal(NAME, SOON);
}

fn run(router: &mut Router, event: Event) -> Wake {
    let now = router.now();
    let bridging = router.own_mut::<Bridging>();
    bridging.scan.is_due |= event == Event::Signal(SOON);
    if bridging.fib.is_crowded() {
        // Without memory it stays as it is: what does not fit is not learned.
        let _ = bridging.fib.grow();
    }
    if bridging.fib.go_on_growing(SLICE) {
        bridging.scan.at = None;
        bridging.scan.is_due = true;
        return Wake::After(PAUSE);
    }
    let is_wanted = bridging.scan.client.is_some();
    let ages = bridging.domains.values().any(|d| d.mac_age > 0);
    if bridging.scan.at.is_none() {
        let has_time_come = event == Event::Timeout && (is_wanted || ages);
        if bridging.scan.is_due || has_time_come {
            bridging.scan.is_due = false;
            bridging.scan.taken = bridging.scan.gone.len();
            (bridging.scan.at, bridging.scan.started) = (Some(0), now);
        }
    }
    if bridging.scan.at.is_some() {
        let over = Over::of(bridging, now);
        while pass(router, &over) {
            if router.now() - now > TURN {
                return Wake::After(PAUSE);
            }
        }
    }
    if router.own::<Bridging>().scan.is_due {
        return Wake::After(PAUSE);
    }
    let scan = &router.own::<Bridging>().scan;
    match scan.client {
        Some(_) => Wake::AfterOrEvent(Duration::from_millis(10 * u64::from(scan.delay.max(1)))),
        None if ages => Wake::AfterOrEvent(AGEING),
        None => Wake::OnEvent,
    }
}

/// Looks through one slice; false when the pass is over.
fn pass(router: &mut Router, over: &Over) -> bool {
    let now = router.now();
    let bridging = router.own_mut::<Bridging>();
    let Some(from) = bridging.scan.at else { return false };
    let (learned, is_wanted) = (bridging.learned.clone(), bridging.scan.client.is_some());
    let (fib, waiting) = (&mut bridging.fib, &mut bridging.scan.waiting);
    fib.walk(from, from + SLICE, |key, value| {
        let entry = Entry(value);
        if entry.has(fib::STATIC) {
            let is_gone = over.gone.iter().any(|gone| gone.has(key, entry));
            return if is_gone { Verdict::Remove } else { Verdict::Keep };
        }
        let mut tell = |action| {
            if is_wanted {
                let (sw_if_index, mac_addr) =
                    (InterfaceIndex(entry.interface()), fib::of_key(key).1);
                waiting.push(MacEntry { sw_if_index, mac_addr, action, flags: 0 });
            }
        };
        if over.is(key, entry) {
            tell(MacEventAction::DELETE);
            macs::forgotten(&learned, key, entry);
            return Verdict::Remove;
        }
        if !entry.has(fib::NEW | fib::MOVED) || !is_wanted {
            return Verdict::Keep;
        }
        let is_new = entry.has(fib::NEW);
        tell(if is_new { MacEventAction::ADD } else { MacEventAction::MOVE });
        Verdict::Set(entry.told().0)
    });
    let is_over = from + SLICE >= bridging.fib.buckets();
    bridging.scan.at = (!is_over).then_some(from + SLICE);
    if is_over {
        bridging.scan.last = now - bridging.scan.started;
        let taken = std::mem::take(&mut bridging.scan.taken).min(bridging.scan.gone.len());
        bridging.scan.gone.drain(..taken);
    }
    tell(router, is_over);
    !is_over
}

/// Addresses that count no longer, for a turn.
struct Over {
    minute: u8,
    /// Sequence number and minutes by place of domains.
    domains: HashMap<u16, (u8, u8)>,
    /// Place of the domain and sequence number by port.
    ports: HashMap<u32, (u16, u8)>,
    gone: Vec<Gone>,
}

impl Over {
    fn of(bridging: &Bridging, now: f64) -> Self {
        let domain =
            |d: &super::state::Domain| (d.index, (bridging.domain_sequence(d.index), d.mac_age));
        let port = |i: &InterfaceIndex| {
            let (id, ..) = bridging.domain_of(*i)?;
            let index = bridging.domains.get(&id)?.index;
            Some((i.0, (index, bridging.port_sequence(*i))))
        };
        Self {
            minute: fib::minute(now),
            domains: bridging.domains.values().map(domain).collect(),
            ports: bridging.ports.keys().filter_map(port).collect(),
            gone: bridging.scan.gone.clone(),
        }
    }
    fn is(&self, key: u64, entry: Entry) -> bool {
        let (index, _) = fib::of_key(key);
        let [of_domain, of_port] = entry.sequence().to_be_bytes();
        let Some((sequence, age)) = self.domains.get(&index) else { return true };
        let is_there = self.ports.get(&entry.interface()) == Some(&(index, of_port));
        *sequence != of_domain || !is_there || (*age > 0 && entry.age(self.minute) >= *age)
    }
}

/// Whether an entry still counts.
pub(crate) fn is_stale(bridging: &Bridging, key: u64, entry: Entry) -> bool {
    if entry.has(fib::STATIC) {
        return bridging.scan.gone.iter().any(|gone| gone.has(key, entry));
    }
    let (index, _) = fib::of_key(key);
    let interface = InterfaceIndex(entry.interface());
    let id = bridging.domain_of(interface).map(|(id, ..)| id);
    let sequence = [bridging.domain_sequence(index), bridging.port_sequence(interface)];
    id != bridging.by_index.get(&index).copied() || sequence != entry.sequence().to_be_bytes()
}

/// Sends events: full ones, and the rest at the end of a pass.
fn tell(router: &mut Router, is_over: bool) {
    let scan = &mut router.own_mut::<Bridging>().scan;
    let Some(client) = scan.client else {
        scan.waiting.clear();
        return;
    };
    let mut waiting = std::mem::take(&mut scan.waiting);
    let most = client.most.max(1);
    let now = if is_over { waiting.len() } else { waiting.len() / most * most };
    let rest = waiting.split_off(now);
    let mut events = waiting.chunks(most);
    let is_there = events.all(|macs| api::send(router, client, macs));
    let scan = &mut router.own_mut::<Bridging>().scan;
    scan.waiting = rest;
    if !is_there || !router.clients.is_connected(client.client) {
        router.own_mut::<Bridging>().scan.client = None;
    }
}
