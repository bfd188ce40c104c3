use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proptest::prelude::*;

use super::*;
use crate::cpu::{Baseline, Hsw, Icl, Skx, Variant};
use crate::rcu::{self, Participant};

const EMPTY: Span = Span { start: 0, leaf: 0, len: 0 };

/// Readers are known to the whole process: tests that hold theirs for long go one by one.
static ALONE: Mutex<()> = Mutex::new(());

/// A tree and a list of its prefixes (key, length, leaf), which is searched from end to end.
struct Both {
    store: Store,
    tree: Writer,
    list: Vec<(u64, u8, u32)>,
    me: Participant,
    _alone: MutexGuard<'static, ()>,
}

fn range(key: u64, len: u8) -> (u64, u64) {
    let low = u64::MAX.checked_shr(len.into()).unwrap_or(0);
    (key & !low, key | low)
}

impl Both {
    fn new(segments: usize) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut store = Store::new(segments).unwrap();
        let tree = Writer::new(&mut store, &[EMPTY]).unwrap();
        Self { store, tree, list: Vec::new(), me: Participant::join(), _alone: alone }
    }
    fn insert(&mut self, key: u64, len: u8, leaf: u32) -> Result<(), Full> {
        let set = |old, old_len| if old_len <= len { (leaf, len) } else { (old, old_len) };
        let bounds = range(key, len);
        if self.tree.rewrite(&mut self.store, bounds, set).is_err() {
            // What readers of other tests hold is no lack of room.
            self.wait_for_readers();
            self.tree.rewrite(&mut self.store, bounds, set)?;
        }
        let key = bounds.0;
        self.list.retain(|p| (p.0, p.1) != (key, len));
        self.list.push((key, len, leaf));
        self.me.quiescent();
        Ok(())
    }
    fn wait_for_readers(&mut self) {
        let epoch = rcu::end_epoch();
        while !rcu::passed(epoch) {
            self.me.quiescent();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    fn remove(&mut self, nth: usize) {
        let (key, len, _) = self.list.swap_remove(nth);
        let (up, up_len) = self.longest(key, len);
        let set = |old, old_len| if old_len == len { (up, up_len) } else { (old, old_len) };
        self.tree.rewrite(&mut self.store, range(key, len), set).unwrap();
        self.me.quiescent();
    }
    fn longest(&self, key: u64, shorter_than: u8) -> (u32, u8) {
        let covers = |p: &&(u64, u8, u32)| p.1 < shorter_than && range(key, p.1).0 == p.0;
        self.list.iter().filter(covers).max_by_key(|p| p.1).map_or((0, 0), |p| (p.2, p.1))
    }
    fn check(&self, extra: &[u64]) {
        let ends = self.list.iter().map(|p| range(p.0, p.1));
        let keys = ends.flat_map(|(a, b)| [a, b, a.wrapping_sub(1), b.wrapping_add(1)]);
        let keys: Vec<u64> = keys.chain(extra.iter().copied()).chain([0, u64::MAX]).collect();
        let expected: Vec<u32> = keys.iter().map(|key| self.longest(*key, u8::MAX).0).collect();
        let (spans, epoch) = (self.tree.reader(), self.me.epoch());
        let mut leaves = vec![u32::MAX; keys.len()];
        spans.find(Baseline::everywhere(), &keys, &mut leaves, epoch);
        assert_eq!(leaves, expected);
        macro_rules! on {
            ($($kind:ident)*) => {$(if Variant::$kind.is_supported() {
                // SAFETY: it was asked for.
                let kind = unsafe { $kind::assume() };
                leaves.fill(u32::MAX);
                spans.find(kind, &keys, &mut leaves, epoch);
                assert_eq!(leaves, expected);
            })*};
        }
        on!(Hsw Skx Icl);
    }
}

proptest! {
    #[test]
    fn agrees_with_a_list_of_prefixes(
        steps in prop::collection::vec((any::<u64>(), 1..=64u8, 1..4u32, any::<bool>()), 1..80),
        probes in prop::collection::vec(any::<u64>(), 10),
    ) {
        let mut both = Both::new(1 << 16);
        for (key, len, leaf, removes) in steps {
            // Few different bits, so that prefixes nest and meet.
            let key = key & 0x8000_0300_0000_8003;
            if removes && !both.list.is_empty() {
                both.remove(key as usize % both.list.len());
            } else {
                both.insert(key, len, leaf).unwrap();
            }
            both.check(&probes);
        }
        while let Some(last) = both.list.len().checked_sub(1) {
            both.remove(last);
        }
        prop_assert_eq!(both.tree.only(), Some(EMPTY));
    }
}

#[test]
fn spans_share_rows_as_long_as_distances_fit() {
    let mut both = Both::new(1 << 16);
    let most = u64::from(u32::MAX) - 1;
    for (last, rows) in [(most - 1, 1), (most, 1), (most + 1, 2), (most + 2, 2), (u64::MAX, 2)] {
        for shift in [0, 3, 31] {
            let last = last.min(u64::MAX >> shift) << shift;
            let starts = [0, 1 << shift, last];
            let span = |(start, leaf)| Span { start, leaf, len: 1 };
            let spans: Vec<Span> = starts.into_iter().zip(1..).map(span).collect();
            let tree = Writer::new(&mut both.store, &spans).unwrap();
            assert_eq!(writer::cut(&spans).len(), rows, "{last:#x}");
            let (keys, mut leaves) = ([0, 1 << shift, last - 1, last, u64::MAX], [0; 5]);
            tree.reader().find(Baseline::everywhere(), &keys, &mut leaves, both.me.epoch());
            assert_eq!(leaves, [1, 2, 2, 3, 3], "{last:#x}");
            assert_eq!(keys.map(|key| tree.span(key).leaf), leaves);
        }
    }
}

#[test]
fn a_large_tree_splits_and_merges_again() {
    let mut both = Both::new(1 << 16);
    let keys: Vec<u64> = (0..25_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    // All of one length and apart, so that the model needs no search.
    for (i, key) in keys.iter().enumerate() {
        let set = |_, _| (i as u32 + 1, 48);
        both.tree.rewrite(&mut both.store, range(*key, 48), set).unwrap();
        both.me.quiescent();
    }
    assert!(both.tree.segment_count() > ROOT * FAN, "{} segments", both.tree.segment_count());
    let mut leaves = vec![0; keys.len()];
    both.tree.reader().find(Baseline::everywhere(), &keys, &mut leaves, both.me.epoch());
    assert!(leaves.iter().zip(1..).all(|(leaf, expected)| *leaf == expected));
    for key in &keys {
        both.tree.rewrite(&mut both.store, range(*key, 48), |_, _| (0, 0)).unwrap();
        both.me.quiescent();
    }
    assert!(both.tree.segment_count() <= 3, "{} segments for nothing", both.tree.segment_count());
}

#[test]
fn a_full_tree_stays_as_it_is() {
    let mut both = Both::new(16);
    let refused = (0..).find(|i| both.insert(i << 40, 64, 7).is_err()).unwrap();
    assert!(refused > 4 * ROWS as u64, "{refused} prefixes filled it");
    assert_eq!(both.insert(1 << 63, 1, 9), Err(Full));
    both.insert(5 << 40, 64, 8).unwrap(); // another leaf needs no room
    both.check(&[refused << 40]);
}

#[test]
fn readers_see_old_or_new_but_nothing_else() {
    let mut both = Both::new(1 << 16);
    both.insert(0, 1, 1).unwrap();
    both.insert(1 << 63, 1, 2).unwrap();
    let (spans, is_done) = (both.tree.reader(), AtomicBool::new(false));
    both.me.offline();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut me = Participant::join();
            let keys: Vec<u64> = (0..64).map(|i| i << 58 | 5).collect();
            while !is_done.load(SeqCst) {
                let mut leaves = [0; 64];
                spans.find(Baseline::everywhere(), &keys, &mut leaves, me.epoch());
                let expected = |(i, leaf): (usize, &u32)| *leaf == i as u32 / 32 + 1 || *leaf == 9;
                assert!(leaves.iter().enumerate().all(expected), "{leaves:?}");
                me.quiescent();
            }
        });
        for round in 0..3000u64 {
            let key = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !0xff;
            let set = |_, _| (9, 64);
            both.tree.rewrite(&mut both.store, (key | 5, key | 5), set).unwrap();
        }
        is_done.store(true, SeqCst);
        reader.join().unwrap();
    });
}
