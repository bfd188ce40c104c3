//! All orders of readers and a writer. Each of these fails when it is removed or made Relaxed: the
//! Acquire and the Release of `quiescent`, the Release of `offline`, the Acquire load of `passed`,
//! both fences, the load of `Reader::read` and of `SlabReader::read`, the swap that publishes, and
//! the grace period of a slab's indices.

use loom::sync::atomic::AtomicU32;
use loom::thread;

use super::*;
use crate::sync::model;

/// Freed during a read, or read before it is written, it is a race that loom reports.
struct Value(AtomicU32);

impl Value {
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
    fn read(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.0.with_mut(|value| *value = u32::MAX);
    }
}

/// Tries all executions of a model that is given a participant. There is another place for one, and
/// the statics are reset.
fn check(model: impl Fn(Participant) + Send + Sync + 'static) {
    model::check(3, move || {
        end_epoch();
        let [me, gone] = [Participant::join(), Participant::join()];
        drop(gone);
        model(me);
        assert_eq!(reclaim(), 0, "no reader is left");
    });
}

#[test]
fn a_value_lives_while_it_is_read() {
    check(|mut me| {
        let mut shared = Shared::new(Value::new(1));
        let reader = shared.reader();
        let reading = thread::spawn(move || {
            let first = reader.read(me.epoch()).read();
            me.quiescent();
            let second = reader.read(me.epoch()).read();
            assert!((1..=2).contains(&first) && (first..=2).contains(&second));
        });
        shared.publish(Value::new(2));
        reclaim();
        reading.join().unwrap();
        drop(shared);
    });
}

#[test]
fn who_comes_online_reads_what_lives() {
    check(|mut me| {
        me.offline();
        let mut shared = Shared::new(Value::new(1));
        let reader = shared.reader();
        let reading = thread::spawn(move || {
            me.online();
            let value = reader.read(me.epoch()).read();
            assert!((1..=2).contains(&value));
            me.offline();
        });
        shared.publish(Value::new(2));
        reclaim();
        reading.join().unwrap();
        drop(shared);
    });
}

#[test]
fn who_joins_reads_what_lives() {
    check(|me| {
        let mut shared = Shared::new(Value::new(1));
        let reader = shared.reader();
        let reading = thread::spawn(move || {
            let new = Participant::join();
            assert!((1..=2).contains(&reader.read(new.epoch()).read()));
        });
        drop(me);
        shared.publish(Value::new(2));
        reclaim();
        reading.join().unwrap();
        drop(shared);
    });
}

#[test]
fn an_object_lives_while_it_is_read() {
    check(|mut me| {
        let mut slab = SharedSlab::new(1).unwrap();
        assert!(slab.insert(Value::new(1)).is_ok());
        let reader = slab.reader();
        let reading = thread::spawn(move || {
            for _ in 0..2 {
                let value = reader.read(0, me.epoch()).map(Value::read);
                assert!(matches!(value, Some(1 | 2)), "{value:?}");
                me.quiescent();
            }
        });
        slab.replace(0, Value::new(2));
        reclaim();
        reading.join().unwrap();
        drop(slab);
    });
}

#[test]
fn an_index_in_flight_means_no_other_object() {
    check(|mut me| {
        let mut slab = SharedSlab::new(2).unwrap();
        for value in 0..2 {
            assert!(slab.insert(Value::new(value)).is_ok());
        }
        let mut route = Shared::new(0);
        let (objects, routes) = (slab.reader(), route.reader());
        let reading = thread::spawn(move || {
            for _ in 0..2 {
                let index = *routes.read(me.epoch());
                // It exists for readers of the route before the change.
                let value = objects.read(index, me.epoch()).map(Value::read);
                assert_eq!(value, Some(index));
                me.quiescent();
            }
        });
        route.publish(1);
        slab.remove(0);
        reclaim();
        let new = slab.insert(Value::new(9));
        assert!(new.as_ref().ok().is_none_or(|index| *index == 0));
        drop(new);
        reading.join().unwrap();
        drop((slab, route));
    });
}
