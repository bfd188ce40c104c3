//! All orders of a sender and a receiver. Each of these, made Relaxed, fails: both Release stores
//! and both Acquire loads.

use loom::thread;

use super::{Receiver, Sender, channel};
use crate::sync::model;

/// A ring whose counters were used.
fn ring<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = channel(capacity);
    assert!(sender.is_empty() && receiver.is_empty());
    (sender, receiver)
}

#[test]
fn each_value_comes_once_and_in_order_through_reused_slots() {
    model::check(3, || {
        let (mut sender, mut receiver) = ring(1);
        let sending = thread::spawn(move || {
            for value in 0..3 {
                let mut boxed = Box::new(value);
                while let Err(back) = sender.try_send(boxed) {
                    boxed = back;
                    thread::yield_now();
                }
            }
            sender
        });
        for value in 0..3 {
            let got = std::iter::repeat_with(|| receiver.try_recv().ok_or_else(thread::yield_now));
            assert_eq!(got.flatten().next(), Some(Box::new(value)));
        }
        assert_eq!(receiver.try_recv(), None);
        drop(sending.join().unwrap());
    });
}

#[test]
fn a_ring_that_is_left_drops_what_it_holds() {
    model::check(3, || {
        let kept = std::sync::Arc::new(());
        let (mut sender, mut receiver) = ring(2);
        let sent = [(); 2].map(|()| std::sync::Arc::clone(&kept));
        let sending = thread::spawn(move || {
            for value in sent {
                sender.try_send(value).expect("the ring has room for two");
            }
            sender
        });
        drop(receiver.try_recv());
        let sender = sending.join().unwrap();
        drop((sender, receiver));
        assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    });
}
