//! Events from the data plane to control: what a node noticed that only control can act on.
//!
//! Each clone of a node has a ring of its own, so a node that reports neither waits nor locks.
//! Control is woken once until it has looked; a full ring loses the event, counted, and the sender
//! repeats itself.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use infra::ring::{self, Receiver, Sender};
use wire::MacAddr;

use crate::arping;
use crate::dad;
use crate::interface::InterfaceIndex;
use crate::mld;
use crate::neighbor;
use crate::ping;
use crate::ra;
use crate::reassembly;
use crate::router::Router;
use crate::traceroute;

/// Events that fit into the ring of one node on one thread.
const RING: usize = 1024;

/// What a node tells control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Packets wait for a neighbour's answer: ask again and give up in time.
    Held,
    /// Somebody said which address a neighbour has.
    Learned {
        /// Where.
        interface: InterfaceIndex,
        /// The neighbour.
        addr: IpAddr,
        /// Its address of layer 2.
        mac: MacAddr,
        /// What it was said in.
        how: neighbor::Evidence,
    },
    /// Fragments wait for others: give up in time.
    Fragments {
        /// 0 for IPv4, 1 for IPv6.
        family: u8,
        /// A `reassembly::Kind`.
        kind: u8,
    },
    /// Somebody else has, or wants, an IPv6 address that we want.
    Duplicate {
        /// Where.
        interface: InterfaceIndex,
        /// The address.
        addr: Ipv6Addr,
    },
    /// Somebody looks for routers.
    Solicited(ra::Solicited),
    /// A router asks what groups have members here.
    GroupsAsked(mld::Query),
    /// Another router advertises itself: what it said is in a ring of its own.
    Advertised,
    /// An echo reply came.
    PingReply(ping::EchoReply),
    /// A neighbour answered who asked by `arping`.
    ArpingReply {
        /// Where.
        interface: InterfaceIndex,
        /// The neighbour.
        addr: IpAddr,
        /// Its address of layer 2.
        mac: MacAddr,
    },
    /// An ICMP error about a probe of ours came.
    ProbeAnswer(traceroute::Answer),
}

/// Called when there is something to take.
pub type Notifier = Arc<dyn Fn() + Send + Sync>;

/// Control's end.
pub struct EventQueue<E = Event>(Arc<Shared<E>>);

struct Shared<E> {
    rings: Mutex<Vec<(Weak<()>, Receiver<E>)>>,
    /// Room in each.
    room: usize,
    /// Control was told and has not looked since.
    told: AtomicBool,
    lost: AtomicU64,
    notifier: OnceLock<Notifier>,
}

/// A node's end. A clone, made by control for another thread, gets a ring of its own.
pub struct EventSender<E = Event> {
    ring: Sender<E>,
    shared: Arc<Shared<E>>,
    _alive: Arc<()>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::with_room_for(RING)
    }
}

impl<E> Clone for EventQueue<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: Send> EventQueue<E> {
    /// One whose rings hold `room` events each.
    pub fn with_room_for(room: usize) -> Self {
        Self(Arc::new(Shared {
            rings: Mutex::default(),
            room,
            told: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            notifier: OnceLock::new(),
        }))
    }
    /// For a node.
    pub fn sender(&self) -> EventSender<E> {
        let (ring, receiver) = ring::channel(self.0.room);
        let alive = Arc::new(());
        let mut rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|(node, ring)| node.strong_count() > 0 || !ring.is_empty());
        rings.push((Arc::downgrade(&alive), receiver));
        EventSender { ring, shared: Arc::clone(&self.0), _alive: alive }
    }
    /// Has `notifier` called, on a data-plane thread, when there is something to take and control
    /// was not told before. The first one stays.
    pub fn notify(&self, notifier: Notifier) {
        let _ = self.0.notifier.set(notifier);
    }
    /// Takes what there is, at most what fits into the rings.
    pub fn take(&self) -> Vec<E> {
        // Acquire and release: an event whose sender found that control was told is seen below.
        self.0.told.swap(false, Ordering::AcqRel);
        let mut rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        for (_, ring) in rings.iter_mut() {
            let waiting = ring.len();
            events.extend(std::iter::from_fn(|| ring.try_recv()).take(waiting));
        }
        events
    }
    /// Events lost because a ring was full.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl<E: Send> EventSender<E> {
    /// Tells control; false when it has too much to do, and the event is lost.
    pub fn send(&mut self, event: E) -> bool {
        let sent = self.ring.try_send(event).is_ok();
        if !sent {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        if !self.shared.told.swap(true, Ordering::AcqRel)
            && let Some(notify) = self.shared.notifier.get()
        {
            notify();
        }
        sent
    }
}

impl<E: Send> Clone for EventSender<E> {
    fn clone(&self) -> Self {
        EventQueue(Arc::clone(&self.shared)).sender()
    }
}

impl Router {
    /// Does what the data plane reported. Call it when [`EventQueue::notify`] says so.
    pub fn handle_events(&mut self) {
        let events = self.events.take();
        for event in events {
            match event {
                Event::Held => neighbor::packets_wait(self),
                Event::Learned { interface, addr, mac, how } => {
                    neighbor::learned(self, interface, addr, mac, how);
                }
                Event::Fragments { family, kind } => {
                    reassembly::fragments_wait(self, family, kind);
                }
                Event::Duplicate { interface, addr } => dad::duplicate(self, interface, addr),
                Event::Solicited(who) => ra::solicited(self, who),
                Event::GroupsAsked(query) => mld::asked(self, query),
                Event::Advertised => ra::hear(self),
                Event::PingReply(reply) => ping::answered(self, reply),
                Event::ArpingReply { interface, addr, mac } => {
                    arping::answered(self, interface, addr, mac);
                }
                Event::ProbeAnswer(answer) => traceroute::answered(self, answer),
            }
        }
        neighbor::release(self);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn events_arrive_once_and_control_is_woken_once() {
        let queue = EventQueue::default();
        let woken = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&woken);
        queue.notify(Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        let mut one = queue.sender();
        let mut two = one.clone();
        assert!(one.send(Event::Held) && two.send(Event::Held));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(queue.take(), [Event::Held; 2]);
        assert!(two.send(Event::Held));
        drop(two);
        assert_eq!((woken.load(Ordering::Relaxed), queue.take().len()), (2, 1));
        assert_eq!(queue.take(), []);
    }

    #[test]
    fn a_full_ring_loses_counted() {
        let queue = EventQueue::default();
        let mut sender = queue.sender();
        let sent = (0..RING + 5).filter(|_| sender.send(Event::Held)).count();
        assert_eq!((sent, queue.lost(), queue.take().len()), (RING, 5, RING));
    }

    #[test]
    fn no_event_stays_behind_when_threads_meet() {
        let queue = EventQueue::default();
        let woken = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&woken);
        queue.notify(Arc::new(move || {
            count.fetch_add(1, Ordering::Release);
        }));
        let mut sender = queue.sender();
        let thread = std::thread::spawn(move || {
            for _ in 0..20_000 {
                while !sender.send(Event::Held) {
                    std::thread::yield_now();
                }
            }
        });
        let (mut seen, mut got) = (0, 0);
        while got < 20_000 {
            // Only a call of the notifier makes control look.
            let calls = woken.load(Ordering::Acquire);
            if calls != seen {
                seen = calls;
                got += queue.take().len();
            }
        }
        thread.join().unwrap();
        assert_eq!(got, 20_000);
    }
}
