//! Control of the data path: enabling the layer, threads, and work for them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use graph::{InputState, NodeIndex};
use infra::rcu::{Epoch, Participant, Shared};
use infra::table::exact::Exact;
use net::address::OnInterface;
use net::ip::{V4, V6, Version};
use net::{InterfaceIndex, Router};
use tcp_machine::{Algorithm, Config};
use wire::{IpVersion, Protocol};

use super::apps::{self, App};
use super::endpoint::Transport;
use super::fence::Failures;
use super::listeners::Listeners;
use super::opening::Spare;
use super::ports::{Ports, Share};
use super::session::Life;
use super::stack::Stack;
use super::transport::Output;
use super::worker::Worker;
use super::{fence, statistics, tcp};
use crate::control::settings::{self, Settings};

/// Largest payload of a packet before segmentation, so that all headers fit in front.
const BURST: u32 = 64_000;
/// Rounds in which threads send resets after the layer is disabled.
const ROUNDS: usize = 64;

/// State of the control thread.
pub struct Layer {
    /// State of the threads.
    pub stack: Stack,
    /// Listeners.
    pub listeners: Shared<Listeners>,
    /// Number of the next listener.
    pub next_listener: u32,
    /// Numbers of listeners by application.
    pub by_app: BTreeMap<(u32, Transport), BTreeSet<u32>>,
    /// Applications inside the daemon, by number.
    pub apps: BTreeMap<u32, App>,
    /// Number of datagram sessions by IP version and local port.
    pub datagram_ports: BTreeMap<(IpVersion, u16), u32>,
    /// Allocation of these ports.
    pub ports: Ports,
    /// Number of connect requests, for distributing them over threads.
    pub connects: usize,
    /// Whether the layer is enabled.
    pub is_on: bool,
    /// Directory of the threads of all sessions.
    pub directory: Exact,
    /// The node `session-queue`.
    pub queue: NodeIndex,
    /// The node at which threads run work of the control thread.
    pub place: NodeIndex,
    /// Secret for initial sequence numbers and cookies.
    pub secret: [u8; 16],
    /// Seed for hashes.
    pub seed: u64,
    /// Failures of transports.
    pub failures: Failures,
}

/// Converts settings for the TCP machine.
pub fn config(settings: &Settings) -> Config {
    let tcp = &settings.tcp;
    let seconds = |n: u32| std::time::Duration::from_secs(n.into());
    let default = Config::default();
    Config {
        syn_rcvd_time: seconds(tcp.syn_rcvd_time),
        finwait1_time: seconds(tcp.finwait1_time),
        finwait2_time: seconds(tcp.finwait2_time),
        closing_time: seconds(tcp.closing_time),
        lastack_time: seconds(tcp.lastack_time),
        timewait_time: seconds(tcp.timewait_time),
        initial_cwnd: match tcp.initial_cwnd_multiplier {
            0 => default.initial_cwnd,
            n => (u32::from(default.initial_cwnd) * n).min(255) as u8,
        },
        rcv_buffer_max: tcp.max_rx_fifo.min(u32::MAX.into()) as u32,
        max_burst: if tcp.has_tso { BURST.min(tcp.max_gso_size) } else { 1 },
        dsack: tcp.has_dsack,
        algorithm: match tcp.algorithm {
            settings::Algorithm::Cubic => Algorithm::Cubic,
            settings::Algorithm::Newreno => Algorithm::NewReno,
        },
        ..default
    }
}

fn share(threads: &Range<usize>, thread: usize) -> Share {
    let place = thread.saturating_sub(threads.start) as u16;
    Share { place, of: threads.len().max(1) as u16 }
}

/// Enables or disables the layer.
pub fn switch(router: &mut Router, is_on: bool) {
    if router.own::<Layer>().is_on == is_on {
        return;
    }
    if is_on {
        turn_on(router);
    } else {
        turn_off(router);
    }
}

fn turn_on(router: &mut Router) {
    router.own_mut::<Layer>().is_on = true;
    let threads = router.engine.data_threads();
    give_parts(router, &threads, Vec::new());
    for version in IpVersion::ALL {
        let input = tcp::INPUT[version as usize];
        if let Err(why) = router.redispatch_protocol(version, Protocol::TCP, Some(input)) {
            router.log.class("session", "enable").error(why);
        }
    }
    take_icmp_errors(router, true);
    watch(router, &threads, InputState::Adaptive);
    statistics::refresh(router);
}

fn take_icmp_errors(router: &mut Router, is_on: bool) {
    for (arc, name) in [V4::PUNT_ARC, V6::PUNT_ARC].into_iter().zip(tcp::icmp::NAMES) {
        router.set_feature_everywhere(arc, name, is_on);
    }
}

fn watch(router: &mut Router, threads: &Range<usize>, state: InputState) {
    let queue = router.own::<Layer>().queue;
    for thread in threads.clone() {
        router.engine.set_input_state(thread, queue, state);
    }
}

/// The node that gives applications their turns.
pub fn turning(router: &Router) -> NodeIndex {
    router.own::<Layer>().queue
}

/// Creates the state of threads that have none, with parts of applications that are left over.
fn give_parts(router: &mut Router, threads: &Range<usize>, mut spares: Vec<Spare>) {
    let settings = settings::current(router).clone();
    let stack = router.own::<Layer>().stack.clone();
    let there = stack.ask(&mut router.engine, |_| ()).unwrap_or_default();
    let is_new = |thread: &usize| !there.iter().any(|(at, ())| at == thread);
    let missing: Vec<_> = threads.clone().filter(is_new).collect();
    if missing.is_empty() {
        return;
    }
    spares.extend(take_spares(router, missing.len()));
    let layer = router.own::<Layer>();
    let (seed, secret) = (layer.seed, layer.secret);
    let apps: Vec<_> = layer.apps.keys().copied().collect();
    let mut new = Vec::new();
    for thread in missing {
        match Worker::new(thread, seed, secret, config(&settings)) {
            Ok(worker) => new.push((thread, Box::new(worker))),
            Err(why) => router.log.class("session", "enable").error(why),
        }
    }
    for (thread, worker) in &mut new {
        settle(worker, threads, &settings);
        let mut words = BTreeMap::new();
        for app in &apps {
            let spare = spares.iter().position(|spare| spare.app == *app);
            let part = match spare.map(|at| spares.swap_remove(at)) {
                Some(spare) => {
                    words.extend(spare.words);
                    spare.object
                }
                None => router.own::<Layer>().apps[app].part(*thread),
            };
            worker.enter(*app, part);
        }
        let all = router.own::<Layer>().listeners.current().iter();
        for listener in all.filter(|l| l.endpoint.transport == Transport::Udp && !l.by_peer) {
            let data = words.get(&listener.index).copied();
            worker.open_listening(listener, data.unwrap_or(u64::MAX));
        }
    }
    put_parts(router, &stack, new);
}

/// Spare parts of applications on other threads, at most `most` of each.
fn take_spares(router: &mut Router, most: usize) -> Vec<Spare> {
    let stack = router.own::<Layer>().stack.clone();
    let taken = Arc::new(Mutex::new(BTreeMap::<u32, usize>::new()));
    let found = stack.ask(&mut router.engine, move |worker| {
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        worker.take_spares(|app| {
            let of = taken.entry(app).or_default();
            *of += 1;
            *of <= most
        })
    });
    found.unwrap_or_default().into_iter().flat_map(|(_, spares)| spares).collect()
}

fn settle(worker: &mut Worker, threads: &Range<usize>, settings: &Settings) {
    worker.ports.set_share(share(threads, worker.thread));
    worker.ports.set_range(settings.ports.0..=settings.ports.1);
    worker.is_shared = threads.len() > 1;
    if !worker.is_shared {
        worker.moves.clear();
    }
    worker.mtu = settings.tcp.mtu.min(u16::MAX.into()) as u16;
}

/// Installs state on threads that have none.
fn put_parts(router: &mut Router, stack: &Stack, parts: Vec<(usize, Box<Worker>)>) {
    let (parts, stack) = (Arc::new(Mutex::new(parts)), stack.clone());
    let done = router.engine.on_threads(move |thread| {
        let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
        if stack.lend(thread).is_none()
            && let Some(at) = parts.iter().position(|(of, _)| *of == thread)
        {
            stack.replace(thread, Some(parts.swap_remove(at).1));
        }
    });
    if let Err(why) = done {
        router.log.class("session", "threads").error(why);
    }
}

/// Takes the state of a thread.
pub fn take_part(router: &mut Router, thread: usize) -> Option<Box<Worker>> {
    take_parts(router, move |at| at == thread).pop()
}

/// Creates the state of threads that have none, while the layer is enabled.
pub fn restart(router: &mut Router, spares: Vec<Spare>) {
    let threads = router.engine.data_threads();
    give_parts(router, &threads, spares);
    watch(router, &threads, InputState::Adaptive);
}

/// Takes the state of those threads for which `is` returns true.
#[expect(clippy::vec_box, reason = "a part is large, and moves to its thread as it is")]
fn take_parts(
    router: &mut Router,
    is: impl Fn(usize) -> bool + Clone + Send + 'static,
) -> Vec<Box<Worker>> {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (to, stack) = (Arc::clone(&taken), router.own::<Layer>().stack.clone());
    let done = router.engine.on_threads(move |thread| {
        let part = if is(thread) { stack.replace(thread, None) } else { None };
        to.lock().unwrap_or_else(PoisonError::into_inner).extend(part);
    });
    if let Err(why) = done {
        router.log.class("session", "threads").error(why);
    }
    std::mem::take(&mut *taken.lock().unwrap_or_else(PoisonError::into_inner))
}

fn turn_off(router: &mut Router) {
    fence::replace_all(router);
    let apps: Vec<_> = router.own::<Layer>().apps.keys().copied().collect();
    for app in apps {
        apps::detach(router, app);
    }
    for version in IpVersion::ALL {
        // It was registered when the layer was enabled; removing it cannot fail.
        let _ = router.redispatch_protocol(version, Protocol::TCP, None);
    }
    take_icmp_errors(router, false);
    let stack = router.own::<Layer>().stack.clone();
    let withdraw = |worker: &mut Worker, index: u32| _ = worker.withdraw_at(index);
    if let Err(why) = stack.sweep(&mut router.engine, withdraw) {
        router.log.class("session", "disable").error(why);
    }
    for _ in 0..ROUNDS {
        let left = stack.ask(&mut router.engine, |worker| worker.queued());
        if left.is_ok_and(|left| left.iter().all(|(_, queued)| *queued == 0)) {
            break;
        }
    }
    let threads = router.engine.data_threads();
    watch(router, &threads, InputState::Disabled);
    drop(take_parts(router, |_| true));
    forget_directory(router);
    router.own_mut::<Layer>().is_on = false;
    statistics::refresh(router);
}

fn forget_directory(router: &mut Router) {
    let directory = &mut router.own_mut::<Layer>().directory;
    let buckets = directory.buckets();
    directory.walk(0, buckets, |_, _| infra::table::exact::Verdict::Remove);
}

/// Moves sessions to the remaining threads.
///
/// # Errors
/// None.
pub fn follow_threads(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    if !router.own::<Layer>().is_on {
        return Ok(());
    }
    fence::replace_all(router);
    let kept = stay.clone();
    let mut leaving = take_parts(router, move |thread| !kept.contains(&thread));
    let stack = router.own::<Layer>().stack.clone();
    let me = Participant::join();
    leaving.iter_mut().for_each(|part| stack.announce(part, me.epoch()));
    drop(me);
    // New threads get complete states first.
    let there = stack.ask(&mut router.engine, |_| ()).map_err(|e| e.to_string())?;
    let is_new = |thread: &usize| !there.iter().any(|(at, ())| at == thread);
    let mut moved = Vec::new();
    for thread in stay.clone().filter(is_new) {
        let Some(mut part) = leaving.pop() else { break };
        part.rename(thread);
        moved.push((thread, part));
    }
    put_parts(router, &stack, moved);
    give_parts(router, stay, Vec::new());
    // The states of the other threads are merged into the remaining ones.
    let targets: Vec<_> = stay.clone().collect();
    for (n, part) in leaving.into_iter().enumerate() {
        let target = targets[n % targets.len().max(1)];
        let part = Arc::new(Mutex::new(Some(part)));
        let join = move |worker: &mut Worker| {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            if worker.thread == target
                && let Some(part) = part.take()
            {
                worker.join(*part);
            }
        };
        stack.visit(&mut router.engine, join).map_err(|e| e.to_string())?;
    }
    let (settings, threads) = (settings::current(router).clone(), stay.clone());
    let announce = move |worker: &mut Worker| {
        settle(worker, &threads, &settings);
        worker.announce_all();
    };
    stack.visit(&mut router.engine, announce).map_err(|e| e.to_string())?;
    if stay.len() == 1 {
        // A single thread neither reads nor updates the directory.
        forget_directory(router);
    }
    watch(router, stay, InputState::Adaptive);
    Ok(())
}

/// Ends sessions from addresses that an interface no longer has.
pub fn follow_addresses(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    if !router.own::<Layer>().is_on {
        return;
    }
    let now = ends_of(router.addresses.of(interface));
    let gone: HashSet<_> = ends_of(before).into_iter().filter(|end| !now.contains(end)).collect();
    if gone.is_empty() {
        return;
    }
    let stack = router.own::<Layer>().stack.clone();
    let withdraw = move |worker: &mut Worker, index: u32| {
        let session = &worker.sessions[index as usize];
        let end = (session.key.fib(), session.key.local().ip());
        if session.life != Life::Listening && gone.contains(&end) {
            worker.withdraw_at(index);
        }
    };
    if let Err(why) = stack.sweep(&mut router.engine, withdraw) {
        router.log.class("session", "addresses").error(why);
    }
}

/// Addresses of an interface with their tables.
fn ends_of(on: &OnInterface) -> HashSet<(u16, IpAddr)> {
    let ip4 = on.ip4.iter().map(|p| (on.table4.0, IpAddr::V4(p.addr())));
    let ip6 = on.ip6.iter().map(|p| (on.table6.0, IpAddr::V6(p.addr())));
    ip4.chain(ip6).collect()
}

/// Passes changed settings to the threads.
pub fn follow_settings(router: &mut Router) {
    let Some(layer) = router.state::<Layer>().filter(|layer| layer.is_on) else { return };
    let (stack, settings) = (layer.stack.clone(), settings::current(router).clone());
    let threads = router.engine.data_threads();
    let change = move |worker: &mut Worker| {
        worker.machine.config = config(&settings);
        settle(worker, &threads, &settings);
    };
    if let Err(why) = stack.visit(&mut router.engine, change) {
        router.log.class("session", "settings").error(why);
    }
}

/// Runs work on the state of a thread, without waiting for it.
pub fn post(
    router: &mut Router,
    thread: usize,
    work: impl FnOnce(&mut Worker, &Stack, Epoch<'_>) + Send + 'static,
) {
    let node = router.own::<Layer>().place;
    router.engine.visit::<Output<tcp::Tcp, V4>>(thread, node, move |output, frame| {
        let stack = &output.stack;
        if let Some(mut worker) = stack.lend(frame.thread()) {
            worker.now = frame.now();
            work(&mut worker, stack, frame.epoch());
        }
    });
}
