//! Events from the data plane to control: what a node noticed that only control can act on.
//!
//! An event is a type of its own, and its handler is registered for the type. Each clone of a node
//! has a ring of its own for each type it sends, so a node that reports neither waits nor locks.
//! Control is woken once until it has looked; a full ring loses the event, counted, and the sender
//! repeats itself.
#![forbid(unsafe_code)]

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use control::feature::Registered;
use infra::ring::{self, Receiver, Sender};

use crate::router::Router;

/// An event from a node to control: small, as it is copied into a ring.
pub trait Event: Copy + Send + 'static {
    /// Events that fit into the ring of one node on one thread.
    const ROOM: usize = 1024;
}

/// Called when there is something to take.
pub type Notifier = Arc<dyn Fn() + Send + Sync>;

/// Takes the events of one type and does what they call for.
type Delivery = Rc<dyn Fn(&mut Router)>;

/// Control's end of all queues.
#[derive(Default)]
pub struct Events {
    wakeup: Arc<Wakeup>,
    /// An `Arc<Rings<E>>` by the type of its events.
    rings: HashMap<TypeId, Box<dyn Any>>,
    handlers: Registered<Delivery>,
    afterwards: Registered<fn(&mut Router)>,
}

/// The state that all queues share.
#[derive(Default)]
struct Wakeup {
    /// Control was woken and has not looked since.
    woken: AtomicBool,
    lost: AtomicU64,
    notifier: OnceLock<Notifier>,
}

/// The rings of all nodes that send one type of events.
struct Rings<E>(Mutex<Vec<(Weak<()>, Receiver<E>)>>);

/// A node's end. A clone, made by control for another thread, gets a ring of its own.
pub struct EventSender<E> {
    ring: Sender<E>,
    rings: Arc<Rings<E>>,
    wakeup: Arc<Wakeup>,
    _alive: Arc<()>,
    /// The other end of an unread ring, of a node that only explains packets.
    _unheard: Option<Receiver<E>>,
}

impl Events {
    /// A sender for a node. Events that nothing handles are lost.
    pub fn sender<E: Event>(&mut self) -> EventSender<E> {
        let rings = self.rings::<E>();
        rings.sender(&self.wakeup)
    }
    /// Calls `handler` with each event of its type.
    pub fn handle<E: Event>(&mut self, handler: impl Fn(&mut Router, E) + 'static) {
        let rings = self.rings::<E>();
        self.handlers.push(Rc::new(move |router| {
            rings.take().into_iter().for_each(|event| handler(router, event));
        }));
    }
    /// Calls `work` whenever all pending events are handled.
    pub fn afterwards(&mut self, work: fn(&mut Router)) {
        self.afterwards.push(work);
    }
    /// Calls `notifier`, on a data-plane thread, when there are events and control was not woken
    /// before. The first one stays.
    pub fn notify(&self, notifier: Notifier) {
        let _ = self.wakeup.notifier.set(notifier);
    }
    /// Events lost because a ring was full.
    pub fn lost(&self) -> u64 {
        self.wakeup.lost.load(Ordering::Relaxed)
    }
    fn rings<E: Event>(&mut self) -> Arc<Rings<E>> {
        let new = || Box::new(Arc::new(Rings::<E>(Mutex::default())));
        let rings = self.rings.entry(TypeId::of::<E>()).or_insert_with(|| new());
        Arc::clone(rings.downcast_ref().expect("rings are kept by the type of their events"))
    }
}

impl<E: Event> Rings<E> {
    fn sender(self: Arc<Self>, wakeup: &Arc<Wakeup>) -> EventSender<E> {
        let (ring, receiver) = ring::channel(E::ROOM);
        let alive = Arc::new(());
        let mut rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|(node, ring)| node.strong_count() > 0 || !ring.is_empty());
        rings.push((Arc::downgrade(&alive), receiver));
        drop(rings);
        let wakeup = Arc::clone(wakeup);
        EventSender { ring, rings: self, wakeup, _alive: alive, _unheard: None }
    }
    /// Takes the pending events, at most the capacity of the rings.
    fn take(&self) -> Vec<E> {
        let mut rings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        for (_, ring) in rings.iter_mut() {
            let waiting = ring.len();
            events.extend(std::iter::from_fn(|| ring.try_recv()).take(waiting));
        }
        events
    }
}

impl<E: Event> EventSender<E> {
    /// Tells control; false when it has too much to do, and the event is lost.
    pub fn send(&mut self, event: E) -> bool {
        let sent = self.ring.try_send(event).is_ok();
        if !sent {
            self.wakeup.lost.fetch_add(1, Ordering::Relaxed);
        }
        if !self.wakeup.woken.swap(true, Ordering::AcqRel)
            && let Some(notify) = self.wakeup.notifier.get()
        {
            notify();
        }
        sent
    }
}

impl<E: Event> Clone for EventSender<E> {
    fn clone(&self) -> Self {
        if graph::explain::is_explaining() {
            let (ring, unheard) = ring::channel(E::ROOM);
            let (rings, wakeup) = (Arc::clone(&self.rings), Arc::default());
            return Self { ring, rings, wakeup, _alive: Arc::default(), _unheard: Some(unheard) };
        }
        Arc::clone(&self.rings).sender(&self.wakeup)
    }
}

impl Router {
    /// Handles what the data plane reported. Call it when [`Events::notify`] says so.
    pub fn handle_events(&mut self) {
        // Acquire and release: an event whose sender found that control was woken is seen below.
        if self.events.wakeup.woken.swap(false, Ordering::AcqRel) {
            for handler in self.events.handlers.clone().iter() {
                handler(self);
            }
        }
        for work in self.events.afterwards.clone().iter() {
            work(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Seen(u32);
    impl Event for Seen {}

    #[derive(Clone, Copy)]
    struct Rare;
    impl Event for Rare {
        const ROOM: usize = 4;
    }

    fn counting(events: &Events) -> Arc<AtomicU32> {
        let woken = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&woken);
        events.notify(Arc::new(move || {
            count.fetch_add(1, Ordering::Release);
        }));
        woken
    }

    /// First step of [`Router::handle_events`].
    fn take<E: Event>(events: &mut Events) -> Vec<E> {
        events.wakeup.woken.swap(false, Ordering::AcqRel);
        events.rings::<E>().take()
    }

    #[test]
    fn events_arrive_once_and_control_is_woken_once() {
        let mut events = Events::default();
        let woken = counting(&events);
        let (mut one, mut other) = (events.sender(), events.sender());
        let mut two = one.clone();
        assert!(one.send(Seen(1)) && two.send(Seen(2)) && other.send(Rare));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(take::<Seen>(&mut events), [Seen(1), Seen(2)]);
        assert!(two.send(Seen(3)));
        drop(two);
        assert_eq!((woken.load(Ordering::Relaxed), take::<Seen>(&mut events).len()), (2, 1));
        assert_eq!(take::<Seen>(&mut events), []);
        assert_eq!(take::<Rare>(&mut events).len(), 1);
    }

    #[test]
    fn a_full_ring_loses_counted() {
        let mut events = Events::default();
        let mut sender = events.sender();
        let sent = (0..Rare::ROOM + 5).filter(|_| sender.send(Rare)).count();
        let taken = take::<Rare>(&mut events).len();
        assert_eq!((sent, events.lost(), taken), (Rare::ROOM, 5, Rare::ROOM));
    }

    #[test]
    fn no_event_stays_behind_when_threads_meet() {
        let mut events = Events::default();
        let woken = counting(&events);
        let mut sender = events.sender();
        let thread = std::thread::spawn(move || {
            for n in 0..20_000 {
                while !sender.send(Seen(n)) {
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
                got += take::<Seen>(&mut events).len();
            }
        }
        thread.join().unwrap();
        assert_eq!(got, 20_000);
    }
}
