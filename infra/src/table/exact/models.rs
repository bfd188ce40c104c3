//! All orders of a lookup and of changes around it. Each fails when it is made Relaxed: the Release
//! of a value's store and of a key's, the Acquire of their loads; and when the key is not read
//! again.

use loom::thread;

use super::*;
use crate::rcu::Participant;
use crate::sync::model;

#[test]
fn a_value_is_that_of_its_key() {
    model::check(3, || {
        let buckets = Arc::new(Buckets::new(2, 0).unwrap());
        buckets.insert(7, 70).unwrap();
        let at = buckets.place(7).unwrap();
        let reading = Arc::clone(&buckets);
        let reader = thread::spawn(move || {
            let found = reading.find(7);
            assert!(found == 0 || found == 70, "{found} is another's");
        });
        buckets.remove(7);
        buckets.write(at, 8, 80);
        reader.join().unwrap();
    });
}

#[test]
fn two_threads_learn_a_key_once() {
    model::check(2, || {
        let mut table = Exact::new(8).unwrap();
        let _ = (table.view().find(7), table.change(7, |_| Change::Nothing));
        let learn = |me: Participant, table: ExactReader| {
            thread::spawn(move || {
                let view = table.read(me.epoch());
                let _ = view.try_change(7, |now| {
                    assert!(now == 0 || now == 70);
                    Change::Set(70)
                });
            })
        };
        let one = learn(model::participant(), table.reader());
        let _ = table.change(7, |_| Change::Set(70));
        one.join().unwrap();
        assert_eq!((table.view().len(), table.view().find(7)), (1, 70));
    });
}
