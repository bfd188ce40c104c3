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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

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

/// Takes events of one type and does what they call for, until a turn is over; whether some are
/// left.
type Delivery = Rc<dyn Fn(&mut Router, &dyn Fn() -> bool) -> bool>;

/// Events of one type that are handled before the time is looked at.
const BATCH: usize = 16;

/// Control's end of all queues.
#[derive(Default)]
pub struct Events {
    wakeup: Arc<Wakeup>,
    /// An `Arc<Rings<E>>` by the type of its events.
    rings: HashMap<TypeId, Box<dyn Any>>,
    handlers: Registered<Delivery>,
    /// The first handler of the next turn: the one behind that which used up the last one.
    next: usize,
    /// Whether the last turn left events.
    is_left: bool,
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
struct Rings<E>(Mutex<Ends<E>>);

struct Ends<E> {
    all: Vec<(Weak<()>, Receiver<E>)>,
    /// The ring from which events are taken first.
    next: usize,
}

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
        self.handlers.push(Rc::new(move |router, is_over| {
            // What comes meanwhile is for the next turn.
            let mut left = rings.waiting();
            while left > 0 {
                let some = rings.take(left.min(BATCH));
                left = if some.is_empty() { 0 } else { left - some.len() };
                some.into_iter().for_each(|event| handler(router, event));
                if is_over() {
                    break;
                }
            }
            left > 0
        }));
    }
    /// Calls `work` after each turn of handling events.
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
        let new = || {
            let ends = Ends::<E> { all: Vec::new(), next: 0 };
            Box::new(Arc::new(Rings(Mutex::new(ends))))
        };
        let rings = self.rings.entry(TypeId::of::<E>()).or_insert_with(|| new());
        Arc::clone(rings.downcast_ref().expect("rings are kept by the type of their events"))
    }
}

impl<E: Event> Rings<E> {
    fn sender(self: Arc<Self>, wakeup: &Arc<Wakeup>) -> EventSender<E> {
        let (ring, receiver) = ring::channel(E::ROOM);
        let alive = Arc::new(());
        let mut ends = self.lock();
        ends.all.retain(|(node, ring)| node.strong_count() > 0 || !ring.is_empty());
        ends.all.push((Arc::downgrade(&alive), receiver));
        drop(ends);
        let wakeup = Arc::clone(wakeup);
        EventSender { ring, rings: self, wakeup, _alive: alive, _unheard: None }
    }
    fn lock(&self) -> MutexGuard<'_, Ends<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Pending events.
    fn waiting(&self) -> usize {
        self.lock().all.iter().map(|(_, ring)| ring.len()).sum()
    }
    /// Takes so many pending events at most, of each ring in turn.
    fn take(&self, most: usize) -> Vec<E> {
        let (mut ends, mut events) = (self.lock(), Vec::new());
        for _ in 0..ends.all.len() {
            let at = ends.next % ends.all.len();
            let ring = &mut ends.all[at].1;
            let count = ring.len().min(most - events.len());
            events.extend(std::iter::from_fn(|| ring.try_recv()).take(count));
            ends.next = at + 1;
            if events.len() == most {
                break;
            }
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
        self.handle_events_until(&|| false);
    }
    /// The same, leaving the rest for the next turn when this one is over. Whether some is left.
    pub(crate) fn handle_events_until(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        // Acquire and release: an event whose sender found that control was woken is seen below.
        let is_woken = self.events.wakeup.woken.swap(false, Ordering::AcqRel);
        if is_woken || self.events.is_left {
            self.events.is_left = self.deliver(is_over);
        }
        for work in self.events.afterwards.clone().iter() {
            work(self);
        }
        self.events.is_left
    }
    /// Calls the handlers, beginning behind the one that used up the last turn.
    fn deliver(&mut self, is_over: &dyn Fn() -> bool) -> bool {
        let handlers = self.events.handlers.clone();
        let first = self.events.next % handlers.iter().count().max(1);
        let all = handlers.iter().enumerate();
        for (at, handler) in all.clone().skip(first).chain(all.take(first)) {
            let is_left = handler(self, is_over);
            if is_left || is_over() {
                self.events.next = at + 1;
                return true;
            }
        }
        false
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
        events.rings::<E>().take(usize::MAX)
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

    #[test]
    fn a_flood_of_one_kind_keeps_no_turn_from_others() {
        #[derive(Default)]
        struct Handled([usize; 2]);
        let mut rig = crate::testing::Rig::new(&[]);
        rig.control(|router| {
            router.insert(Handled::default());
            router.events.handle(|router, Seen(_)| router.own_mut::<Handled>().0[0] += 1);
            router.events.handle(|router, Rare| router.own_mut::<Handled>().0[1] += 1);
            let (mut flood, mut rare) = (router.events.sender(), router.events.sender());
            let handlers = router.events.handlers.iter().count();
            for round in 1..=4 {
                assert!(rare.send(Rare));
                // Each turn is over at once, and leaves something.
                for _ in 0..handlers {
                    while flood.send(Seen(0)) {}
                    assert!(router.handle_events_until(&|| true));
                }
                assert_eq!(router.own::<Handled>().0, [round * BATCH, round]);
            }
            router.handle_events();
            assert_eq!(router.own::<Handled>().0[0], 3 * BATCH + Seen::ROOM + BATCH);
        });
    }
}
