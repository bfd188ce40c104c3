//! A bounded queue from one thread to one other thread, without locks.
//!
//! Two counters run freely over a power-of-two array: `tail` is advanced by the sender alone,
//! `head` by the receiver alone, and each side looks at the other's counter only when its own copy
//! of it says that the ring is full or empty.
//!
//! Safety contract: a slot with a position in `head..tail` holds a value and belongs to the
//! receiver; every other slot is empty and belongs to the sender. There is one [`Sender`] and one
//! [`Receiver`], neither can be cloned, and both need `&mut self`, so each counter has one writer.
//! Ownership of a slot passes with a Release store of a counter and its Acquire load.

#[cfg(all(test, loom))]
mod models;

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::sync::{AtomicUsize, UnsafeCell};

/// Makes a ring for at least `capacity` values, rounded up to a power of two.
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let capacity = capacity.max(1).next_power_of_two();
    let shared = Arc::new(Shared {
        head: Padded(AtomicUsize::new(0)),
        tail: Padded(AtomicUsize::new(0)),
        slots: (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
    });
    let sender = Sender { shared: Arc::clone(&shared), tail: 0, seen_head: 0 };
    (sender, Receiver { shared, head: 0, seen_tail: 0 })
}

/// The end that puts values in.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    seen_head: usize,
}

/// The end that takes values out, in the order they were put in.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    seen_tail: usize,
}

impl<T> Sender<T> {
    /// Puts `value` in, or gives it back if the ring is full.
    #[inline]
    pub fn try_send(&mut self, value: T) -> Result<(), T> {
        if self.tail.wrapping_sub(self.seen_head) == self.capacity() {
            self.seen_head = self.shared.head.0.load(Acquire);
            if self.tail.wrapping_sub(self.seen_head) == self.capacity() {
                return Err(value);
            }
        }
        // SAFETY: `tail - head < capacity`, so position `tail` is not in `head..tail` and its slot
        // is the sender's; the receiver emptied it before the `head` loaded above was stored.
        self.shared.slot(self.tail).with_mut(|slot| unsafe {
            (*slot).write(value);
        });
        self.tail = self.tail.wrapping_add(1);
        self.shared.tail.0.store(self.tail, Release);
        Ok(())
    }

    /// Values in the ring, of which the receiver may take some at any time.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.shared.head.0.load(Relaxed))
    }

    /// Whether the ring holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most values the ring holds.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

impl<T> Receiver<T> {
    /// Takes the oldest value out; `None` if the ring is empty.
    #[inline]
    pub fn try_recv(&mut self) -> Option<T> {
        if self.head == self.seen_tail {
            self.seen_tail = self.shared.tail.0.load(Acquire);
            if self.head == self.seen_tail {
                return None;
            }
        }
        let slot = self.shared.slot(self.head);
        // SAFETY: position `head` is in `head..tail`, so its slot holds a value that the sender
        // wrote before the `tail` loaded above was stored. It is read once: the store below takes
        // the position out of the range.
        let value = slot.with_mut(|slot| unsafe { (*slot).assume_init_read() });
        self.head = self.head.wrapping_add(1);
        self.shared.head.0.store(self.head, Release);
        Some(value)
    }

    /// Values in the ring, to which the sender may add at any time.
    #[inline]
    pub fn len(&self) -> usize {
        self.shared.tail.0.load(Relaxed).wrapping_sub(self.head)
    }

    /// Whether the ring holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} of {})", self.len(), self.capacity())
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({} of {})", self.len(), self.shared.slots.len())
    }
}

/// State shared by both ends.
struct Shared<T> {
    head: Padded<AtomicUsize>,
    tail: Padded<AtomicUsize>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: by the module's contract a slot is accessed by one end at a time and passes between
// threads with Release and Acquire, so sharing the ring only ever moves values: `T: Send` suffices.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The slot of a position. The length is a power of two, so positions may wrap.
    #[inline(always)]
    fn slot(&self, position: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let tail = self.tail.0.load(Relaxed);
        let mut head = self.head.0.load(Relaxed);
        while head != tail {
            // SAFETY: both ends are dropped; positions in `head..tail` hold values without another
            // owner.
            self.slot(head).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            head = head.wrapping_add(1);
        }
    }
}

/// Keeps a counter in cache lines of its own: two, because processors fetch them in pairs.
#[repr(align(128))]
struct Padded<T>(T);

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn full_ring_gives_the_value_back() {
        let (mut sender, mut receiver) = channel(3);

        for value in 0..4 {
            assert_eq!(sender.try_send(value), Ok(()));
        }
        assert_eq!(sender.try_send(4), Err(4));
        assert_eq!((sender.len(), receiver.len(), sender.capacity()), (4, 4, 4));
        assert_eq!(receiver.try_recv(), Some(0));
        assert_eq!(sender.try_send(5), Ok(()));
        assert_eq!(std::iter::from_fn(|| receiver.try_recv()).collect::<Vec<_>>(), [1, 2, 3, 5]);
        assert!(receiver.is_empty() && sender.is_empty());
    }

    #[test]
    fn values_cross_threads_in_order_and_once() {
        let count = if cfg!(miri) { 300 } else { 300_000 };
        let (mut sender, mut receiver) = channel(8);

        let sending = thread::spawn(move || {
            for value in 0..count {
                let mut boxed = Box::new(value);
                while let Err(back) = sender.try_send(boxed) {
                    boxed = back;
                    thread::yield_now();
                }
            }
        });
        for value in 0..count {
            let boxed = loop {
                match receiver.try_recv() {
                    Some(boxed) => break boxed,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(*boxed, value);
        }

        sending.join().unwrap();
        assert_eq!(receiver.try_recv(), None);
    }

    #[test]
    fn values_left_inside_are_dropped_once() {
        let value = Arc::new(());
        let (mut sender, mut receiver) = channel(4);
        for _ in 0..3 {
            sender.try_send(Arc::clone(&value)).unwrap();
        }
        drop(receiver.try_recv());
        assert_eq!(Arc::strong_count(&value), 3);

        drop(receiver);
        assert_eq!(Arc::strong_count(&value), 3, "the sender may still ask for the length");
        drop(sender);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    proptest! {
        #[test]
        fn behaves_as_a_bounded_queue(
            start in any::<bool>(),
            steps in prop::collection::vec(any::<bool>(), 0..200),
        ) {
            let (mut sender, mut receiver) = channel(8);
            if start {
                // Positions wrap in the middle of the run.
                let near_the_end = usize::MAX - 4;
                for counter in [&sender.shared.head.0, &sender.shared.tail.0] {
                    counter.store(near_the_end, Relaxed);
                }
                (sender.tail, sender.seen_head) = (near_the_end, near_the_end);
                (receiver.head, receiver.seen_tail) = (near_the_end, near_the_end);
            }
            let mut model = VecDeque::new();
            for (value, is_send) in steps.into_iter().enumerate() {
                if is_send {
                    let is_taken = sender.try_send(value).is_ok();
                    prop_assert_eq!(is_taken, model.len() < 8);
                    if is_taken {
                        model.push_back(value);
                    }
                } else {
                    prop_assert_eq!(receiver.try_recv(), model.pop_front());
                }
                prop_assert_eq!((sender.len(), receiver.len()), (model.len(), model.len()));
            }
        }
    }
}
