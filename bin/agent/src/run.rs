//! The agent at work: one task that decides, one that talks to the store, and a request to the
//! router at a time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{interval, sleep};

use crate::desired::{self, MOST_SECTIONS, Refusal};
use crate::disk::Kept;
use crate::etcd::{Change, Etcd, If, Problem};
use crate::http::Peer;
use crate::machine::{Event, Machine, Order, Own, Status};
use crate::router::Router;
use crate::settings::Settings;
use crate::signature::PublicKey;

/// Seconds that the router's name is kept without the agent.
const LEASE: u32 = 10;
/// Seconds between two keepalives.
const ALIVE: u64 = 3;
/// Seconds between two reads of `desired`, whatever the watch reports.
const LOOK: u64 = 5;
/// Time between two decisions.
const TICK: Duration = Duration::from_millis(250);
/// A pause of the process from which on the name may be another's.
const STOPPED: f64 = 6.0;
/// Seconds between two attempts to reach the store: at first, and at most.
const RETRY: (f64, f64) = (0.1, 10.0);
/// Keys of a router beside its sections.
const OTHER_KEYS: usize = 16;

/// The value of `status/R`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// State.
    #[serde(flatten)]
    pub status: Status,
    /// Version of the agent.
    pub version: String,
    /// Second since 1970-01-01 UTC from which on the state is this one.
    pub since: u64,
    /// The agent: host, process and time of its start.
    pub epoch: String,
}

/// Seconds since 1970-01-01 UTC.
pub fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The store as an agent sees it.
struct Link {
    etcd: Etcd,
    name: String,
    key: Option<PublicKey>,
    events: UnboundedSender<Event>,
    status: watch::Receiver<Shown>,
    /// [`boot_time`] at the start.
    start: f64,
    epoch: String,
    /// Whether the name may be another's: the process was stopped.
    is_stale: Rc<RefCell<bool>>,
}

impl Link {
    fn tell(&self, event: Event) {
        // The receiver lives as long as the program.
        let _ = self.events.send(event);
    }

    fn now(&self) -> f64 {
        boot_time() - self.start
    }

    /// Talks to the store until the program ends.
    async fn work(mut self) {
        let mut pause = RETRY.0;
        loop {
            let begun = self.now();
            if let Err(problem) = self.follow().await {
                self.tell(Event::Lost(problem.to_string()));
                if matches!(problem, Problem::Unreachable(_)) {
                    self.etcd.turn();
                }
            } else {
                // The name may belong to another agent now.
                self.tell(Event::Stale);
            }
            if self.now() - begun > RETRY.1 {
                pause = RETRY.0;
            }
            // Agents that lost the same store do not come back at the same moment.
            let part = f64::from(unix_nanos() % 1000) / 1000.0;
            sleep(Duration::from_secs_f64(pause * (0.5 + part / 2.0))).await;
            pause = (pause * 2.0).min(RETRY.1);
        }
    }

    fn status_key(&self) -> String {
        format!("status/{}", self.name)
    }

    /// Takes the name, reads what is desired, and follows it; ends when the name may be another's.
    async fn follow(&mut self) -> Result<(), Problem> {
        *self.is_stale.borrow_mut() = false;
        let lease = self.etcd.lease(LEASE).await?;
        let asked = self.now();
        if let Err(problem) = self.claim(lease).await {
            let _ = self.etcd.revoke(lease).await;
            return Err(problem);
        }
        self.tell(Event::Alive(asked));
        let mut seen = None;
        let from = self.read(&mut seen).await?;
        let key = format!("routers/{}/", self.name);
        let mut notices = self.etcd.watch(&key, from + 1).await?;
        let mut alive = interval(Duration::from_secs(ALIVE));
        let mut look = interval(Duration::from_secs(LOOK));
        loop {
            tokio::select! {
                // After a compaction all is read again, and followed from there.
                changed = notices.changed() => {
                    changed?;
                    self.read(&mut seen).await?;
                }
                _ = alive.tick() => {
                    let asked = self.now();
                    if *self.is_stale.borrow() || !self.etcd.keep(lease).await? {
                        return Ok(());
                    }
                    self.tell(Event::Alive(asked));
                }
                _ = look.tick() => {
                    let found = self.etcd.range(&format!("{key}desired"), false, (None, 1)).await?;
                    let modified = found.records.values().next().map(|record| record.modified);
                    if Some(modified) != seen {
                        self.read(&mut seen).await?;
                        notices = self.etcd.watch(&key, found.revision + 1).await?;
                    }
                }
                changed = self.status.changed() => {
                    if changed.is_ok() && !self.publish(lease).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Takes the router's name, which another agent may have.
    async fn claim(&mut self, lease: i64) -> Result<(), Problem> {
        loop {
            let (key, shown) = (self.status_key(), self.shown());
            let put = [Change::Put(&key, &shown, Some(lease))];
            if self.etcd.change(&[If::Absent(&key)], &put).await? {
                return Ok(());
            }
            let found = self.etcd.range(&key, false, (None, 1)).await?;
            let Some(record) = found.records.get(&key) else { continue };
            let other = serde_json::from_slice::<Shown>(&record.value).unwrap_or_default();
            if other.epoch == self.epoch {
                // An earlier lease of ours.
                if self.etcd.change(&[If::Modified(&key, record.modified)], &put).await? {
                    return Ok(());
                }
                continue;
            }
            self.tell(Event::Taken(other.epoch));
            if !self.etcd.keep(lease).await? {
                return Err(Problem::Unreachable("the lease has expired".to_owned()));
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    fn shown(&mut self) -> Vec<u8> {
        let shown = self.status.borrow_and_update().clone();
        serde_json::to_vec(&shown).unwrap_or_default()
    }

    /// Writes the state; false if the name is not ours any more.
    async fn publish(&mut self, lease: i64) -> Result<bool, Problem> {
        let (key, shown) = (self.status_key(), self.shown());
        let put = [Change::Put(&key, &shown, Some(lease))];
        self.etcd.change(&[If::Leased(&key, lease)], &put).await
    }

    /// Reads what is desired; returns the revision of the store. `seen` is when `desired` was
    /// written that was read last.
    async fn read(&self, seen: &mut Option<Option<u64>>) -> Result<u64, Problem> {
        let prefix = format!("routers/{}/", self.name);
        let limit = MOST_SECTIONS + OTHER_KEYS;
        let found = self.etcd.range(&prefix, true, (None, limit)).await?;
        let desired = found.records.get(&format!("{prefix}desired")).map(|record| record.modified);
        let revision = found.revision;
        if found.is_cut {
            let text = format!("the router has more than {limit} keys");
            self.tell(Event::Wrong(Refusal::new(text)));
        } else if *seen != Some(desired) {
            let event = self.judge(found.records).await?;
            self.tell(event);
        }
        *seen = Some(desired);
        Ok(revision)
    }

    /// The state that these keys desire.
    async fn judge(&self, records: desired::Records) -> Result<Event, Problem> {
        let (order, modified) = match desired::order(&self.name, &records) {
            Err(refusal) => return Ok(Event::Wrong(refusal)),
            Ok(None) => return Ok(Event::Nothing),
            Ok(Some(found)) => found,
        };
        let all = self.records(modified, records).await?;
        let key = self.key.as_ref();
        let goal = all.and_then(|all| desired::resolve(&self.name, &order, &all, key));
        Ok(goal.map_or_else(Event::Wrong, Event::Desired))
    }

    /// The keys of the router and of its sets as they were when `desired` was written.
    async fn records(
        &self,
        modified: u64,
        now: desired::Records,
    ) -> Result<Result<desired::Records, Refusal>, Problem> {
        let prefix = format!("routers/{}/", self.name);
        let mut all = match self.at(modified, &prefix).await? {
            Ok(records) => records,
            Err(refusal) if now.values().any(|record| record.modified > modified) => {
                return Ok(Err(refusal));
            }
            // Nothing was written since.
            Err(_) => now,
        };
        let sets = match desired::sets(&self.name, &all) {
            Ok(sets) => sets,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for set in sets {
            let prefix = format!("sets/{set}/");
            match self.at(modified, &prefix).await? {
                Ok(records) => all.extend(records),
                Err(refusal) => {
                    let found = self.etcd.range(&prefix, true, (None, MOST_SECTIONS + 1)).await?;
                    if found.is_cut || found.records.values().any(|r| r.modified > modified) {
                        return Ok(Err(refusal));
                    }
                    all.extend(found.records);
                }
            }
        }
        Ok(Ok(all))
    }

    /// Keys as they were at a revision.
    async fn at(
        &self,
        revision: u64,
        prefix: &str,
    ) -> Result<Result<desired::Records, Refusal>, Problem> {
        let limit = MOST_SECTIONS + OTHER_KEYS;
        match self.etcd.range(prefix, true, (Some(revision), limit)).await {
            Ok(found) if found.is_cut => {
                let text = format!("there are more than {limit} keys below {prefix}");
                Ok(Err(Refusal::new(text)))
            }
            Ok(found) => Ok(Ok(found.records)),
            Err(Problem::Compacted) => {
                let text = "the store was compacted and no longer has the keys of `desired': \
                            write it again";
                Ok(Err(Refusal::new(text)))
            }
            Err(problem) => Err(problem),
        }
    }
}

/// Seconds since the machine started, with those in which it was suspended.
fn boot_time() -> f64 {
    let time = clock_gettime(ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64()
}

fn unix_nanos() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos()
}

/// Name of this run of the agent.
fn epoch() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    format!("{host}, process {}, since {}", std::process::id(), unix_time())
}

/// Runs an order: writes to the disk at once, requests in the background.
fn carry_out(order: Order, kept: &Kept, router: &Rc<Router>, events: &UnboundedSender<Event>) {
    if let Order::Keep(own) = &order {
        if let Err(e) = kept.write(own) {
            eprintln!("ferrovia-agent: cannot keep its state: {}", control::cli::io_text(&e));
        }
        return;
    }
    let (router, events) = (Rc::clone(router), events.clone());
    spawn_local(async move {
        let event = router.carry_out(order).await;
        let _ = events.send(event);
    });
}

/// The knowledge of an earlier run. Without it the router keeps its lines, and those that are
/// desired are the agent's.
fn remembered(kept: &Kept) -> Own {
    let own = kept.read().unwrap_or_else(|why| {
        eprintln!("ferrovia-agent: {why}: it is forgotten which lines are the fleet's");
        None
    });
    own.unwrap_or_default()
}

/// Runs the agent until the process ends.
///
/// # Errors
/// The settings are wrong.
pub fn run(settings: &Settings) -> Result<(), String> {
    let etcd = settings.store()?;
    let key = settings.signer()?;
    let failed =
        |e: std::io::Error| format!("{}: {}", settings.state.display(), control::cli::io_text(&e));
    let kept = Kept::new(&settings.state, "own.json").map_err(failed)?;
    let shown_file = Kept::new(&settings.state, "status.json").map_err(failed)?;
    let own = remembered(&kept);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let tasks = LocalSet::new();
    let start = boot_time();
    let policy = (settings.orphan, settings.drift);
    let mut machine = Machine::new(0.0, policy, own);
    let router = Rc::new(Router(Peer::Unix(settings.router.clone())));
    let (events, mut inbox) = unbounded_channel();
    let mut shown = Shown {
        status: machine.status(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        since: unix_time(),
        epoch: epoch(),
    };
    let (publish, status) = watch::channel(shown.clone());
    let is_stale = Rc::new(RefCell::new(false));
    let name = settings.name.clone();
    let link = Link {
        etcd,
        name,
        key,
        events: events.clone(),
        status,
        start,
        epoch: shown.epoch.clone(),
        is_stale: Rc::clone(&is_stale),
    };
    tasks.spawn_local(link.work());
    tasks.block_on(&runtime, async move {
        let mut ticks = interval(TICK);
        let mut last = 0.0;
        loop {
            let event = tokio::select! {
                event = inbox.recv() => event.unwrap_or(Event::Tick),
                _ = ticks.tick() => Event::Tick,
            };
            let now = boot_time() - start;
            let mut orders = Vec::new();
            if now - last > STOPPED {
                *is_stale.borrow_mut() = true;
                orders.extend(machine.take(now, Event::Stale));
            }
            last = now;
            orders.extend(machine.take(now, event));
            orders.into_iter().for_each(|order| carry_out(order, &kept, &router, &events));
            let status = machine.status();
            if status != shown.status {
                if status.state != shown.status.state {
                    shown.since = unix_time();
                }
                let store = status.store.as_ref().map(|why| format!(" (the store: {why})"));
                let (state, why) = (status.state, &status.why);
                eprintln!("ferrovia-agent: {state:?} {why}{}", store.unwrap_or_default());
                shown.status = status;
                // The file is for operators who cannot reach the store.
                let _ = shown_file.write(&shown);
                let _ = publish.send(shown.clone());
            }
        }
    })
}
