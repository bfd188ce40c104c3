//! Lookups while routes change: each finds a prefix that was the longest at some moment of the
//! lookup, and where this led then or at a later moment of it. (A thread may rest in between: then
//! a longer prefix may have come since. Nothing is lost by it.)
//!
//! What is true after how many changes is worked out before. The writer says which change it
//! begins and which it has finished; a reader notes both around its lookup. ThreadSanitizer watches
//! the same run with `make tsan`.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::oracle::{self, Oracle};
use super::*;
use crate::fib::control::routes::FromPrefix;
use crate::fib::control::table::Key;
use crate::fib::forwarding::Forwarding;

const CHANGES: usize = 1000;
const READERS: usize = 2;
const LONGEST: Duration = Duration::from_secs(1);

/// Progress of the writer, in changes.
#[derive(Default)]
struct Progress {
    /// Readers that have begun.
    readers: AtomicUsize,
    begun: AtomicUsize,
    finished: AtomicUsize,
}

/// Results of lookups of each probe after each number of changes.
struct Truth<F: Family> {
    probes: Vec<F::Bits>,
    after: Vec<Vec<(Key<F>, Via)>>,
    routes: Vec<Oracle<F>>,
}

impl<F: Family> Truth<F>
where
    Key<F>: FromPrefix,
{
    fn of(changes: &[oracle::Change]) -> Self {
        let keys = changes.iter().take(32).map(Oracle::<F>::key);
        let probes: Vec<_> = keys.flat_map(|(bits, len)| [bits, F::last(bits, len)]).collect();
        let mut oracle = Oracle::<F>::new();
        let all = |oracle: &Oracle<F>| probes.iter().map(|probe| oracle.best(*probe)).collect();
        let (mut after, mut routes) = (vec![all(&oracle)], vec![oracle.clone()]);
        for change in changes {
            oracle.apply(change);
            after.push(all(&oracle));
            routes.push(oracle.clone());
        }
        Self { probes, after, routes }
    }
    /// Whether a lookup of the probe `i` between these changes may lead there.
    fn is_true(&self, i: usize, via: Via, moments: RangeInclusive<usize>) -> bool {
        let last = *moments.end();
        moments.into_iter().any(|found| {
            let (key, then) = self.after[found][i];
            then == via || self.routes[found..=last].iter().any(|r| r.at(key) == Some(via))
        })
    }
    /// Looks up until all is changed; returns how often.
    fn read(&self, forwarding: &Forwarding<F>, table: TableIndex, progress: &Progress) -> usize {
        let (mut me, mut count) = (Participant::join(), 0);
        progress.readers.fetch_add(1, SeqCst);
        for (i, probe) in self.probes.iter().enumerate().cycle() {
            let first = progress.finished.load(SeqCst);
            let reader = forwarding.table(table.0, me.epoch()).unwrap();
            let leaf = reader.lookup(*probe, me.epoch());
            let via = forwarding.load_balance(leaf, me.epoch()).choose(0);
            let last = progress.begun.load(SeqCst);
            let is_true = self.is_true(i, via, first..=last);
            assert!(is_true, "{probe:?} led to {via:?} between changes {first} and {last}");
            me.quiescent();
            count += 1;
            if last == CHANGES {
                break;
            }
        }
        count
    }
}

fn check<F: Family>()
where
    Key<F>: FromPrefix,
{
    let mut runner = TestRunner::deterministic();
    let changes = oracle::changes(CHANGES).new_tree(&mut runner).unwrap().current();
    let truth = Truth::<F>::of(&changes);
    let mut router = oracle::router();
    let table = router.add_table::<F>(0).unwrap();
    let progress = Progress::default();
    let counts = std::thread::scope(|scope| {
        let readers = [(); READERS].map(|()| {
            let forwarding = router.fib.forwarding::<F>();
            let (truth, progress) = (&truth, &progress);
            scope.spawn(move || truth.read(&forwarding, table, progress))
        });
        while progress.readers.load(SeqCst) < READERS {
            std::thread::yield_now();
        }
        #[allow(clippy::disallowed_methods, reason = "how long to try is real time")]
        let start = Instant::now();
        for (i, change) in changes.iter().enumerate() {
            if start.elapsed() > LONGEST || readers.iter().any(|reader| reader.is_finished()) {
                break;
            }
            progress.begun.store(i + 1, SeqCst);
            oracle::apply::<F>(&mut router, table, change);
            progress.finished.store(i + 1, SeqCst);
        }
        progress.begun.store(CHANGES, SeqCst);
        readers.map(|reader| reader.join().unwrap())
    });
    assert!(counts.iter().all(|count| *count > 0), "{counts:?} lookups");
}

#[test]
fn lookups_find_the_old_route_or_the_new_one() {
    check::<Ip4>();
    check::<Ip6>();
}
