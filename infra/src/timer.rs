//! Timers by the thousand: a hierarchical timing wheel (Varghese and Lauck, scheme 7).
//!
//! Four levels of 256 slots: a timer lies on the level of the highest byte in which its deadline
//! differs from the current tick, in the slot that this byte of the deadline names; deadlines
//! that differ above 32 bits wait in a list of their own. When the wheel reaches a slot of a higher
//! level, its timers move down. A bit per occupied slot leads from one event to the next, so a
//! jump of days costs what happens in it, not its ticks.
//!
//! Starting and stopping take constant time. Entries are reused, so a wheel allocates only when
//! more timers run than ever before.

#![forbid(unsafe_code)]

const LEVELS: usize = 4;
const SLOTS: usize = 256;
/// The list of deadlines beyond the last level.
const BEYOND: usize = LEVELS * SLOTS;
/// The list of timers that fire at the next [`Wheel::advance`].
const DUE: usize = BEYOND + 1;
const LISTS: usize = DUE + 1;
/// "No entry" where an index of one is expected.
const NONE: u32 = u32::MAX;

/// Part of a tick that counts as an error of rounding: the end of a tick given in seconds is that
/// tick's.
const ROUNDING: f64 = 1e-6;

/// Usual length of a tick in seconds.
pub const MILLISECOND: f64 = 0.001;

/// Pending timers, each with a value that is handed out when it fires.
#[derive(Debug)]
pub struct Wheel<T> {
    tick_seconds: f64,
    now: u64,
    len: usize,
    entries: Vec<Entry<T>>,
    /// First unused entry; they are chained by `next`.
    free: u32,
    /// First entry of each list; entries are chained in a circle.
    lists: Box<[u32; LISTS]>,
    /// One bit for each list of a level that is not empty.
    occupied: [[u64; SLOTS / 64]; LEVELS],
}

#[derive(Debug)]
struct Entry<T> {
    value: Option<T>,
    deadline: u64,
    list: u16,
    /// Counts the uses of this entry, so that old handles do not stop new timers.
    generation: u32,
    next: u32,
    previous: u32,
}

/// Names a timer until it fires or is stopped; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    index: u32,
    generation: u32,
}

impl<T> Wheel<T> {
    /// A wheel without timers at tick zero, whose ticks last `tick_seconds`.
    pub fn new(tick_seconds: f64) -> Self {
        Self {
            tick_seconds,
            now: 0,
            len: 0,
            entries: Vec::new(),
            free: NONE,
            lists: Box::new([NONE; LISTS]),
            occupied: [[0; SLOTS / 64]; LEVELS],
        }
    }

    /// The tick in which the clock reads `seconds`: what [`advance`](Self::advance) wants.
    pub fn tick_at(&self, seconds: f64) -> u64 {
        (seconds / self.tick_seconds + ROUNDING) as u64
    }

    /// The first tick that begins when the clock reads `seconds` or later: a deadline that is never
    /// early.
    pub fn deadline_at(&self, seconds: f64) -> u64 {
        (seconds / self.tick_seconds - ROUNDING).ceil() as u64
    }

    /// Seconds on the clock when `tick` begins.
    pub fn seconds_at(&self, tick: u64) -> f64 {
        tick as f64 * self.tick_seconds
    }

    /// Timers that are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no timer is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Starts a timer that fires in tick `deadline`, or at the next advance if that is past.
    pub fn start(&mut self, deadline: u64, value: T) -> Handle {
        let index = self.take_entry();
        let entry = &mut self.entries[index as usize];
        entry.value = Some(value);
        entry.deadline = deadline;
        let handle = Handle { index, generation: entry.generation };
        self.len += 1;
        self.place(index);
        handle
    }

    /// Stops a timer and returns its value; `None` if it fired or was stopped before.
    pub fn stop(&mut self, handle: Handle) -> Option<T> {
        let entry = self.entries.get(handle.index as usize)?;
        if entry.generation != handle.generation || entry.value.is_none() {
            return None;
        }
        self.unlink(handle.index);
        self.release(handle.index)
    }

    /// Goes to tick `now` and hands out the values of all timers due by then, in the order of their
    /// deadlines, those of one tick in the order of their starts.
    ///
    /// If `now` is before the tick reached last, because the clock was set back, all timers are
    /// placed again (linear in their number) and keep their deadlines.
    pub fn advance(&mut self, now: u64, mut fire: impl FnMut(T)) {
        while let Some(value) = self.pop(now) {
            fire(value);
        }
    }

    /// The first of what [`advance`](Self::advance) would hand out. Between two calls timers may be
    /// stopped, also those that are due.
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if now < self.now {
            self.go_back(now);
        }
        loop {
            let index = self.lists[DUE];
            if index != NONE {
                self.unlink(index);
                return self.release(index);
            }
            let Some((tick, list)) = self.next_event().filter(|&(tick, _)| tick <= now) else {
                self.now = now;
                return None;
            };
            self.now = tick;
            let chain = self.detach(list);
            self.place_chain(chain);
        }
    }

    /// The next tick in which [`advance`](Self::advance) has something to do; `None` without
    /// timers.
    ///
    /// No timer fires before it. It is exact within the current 256 ticks; further on it may be the
    /// tick in which timers move down a level.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.lists[DUE] != NONE {
            return Some(self.now);
        }
        self.next_event().map(|(tick, _)| tick)
    }

    /// The first occupied list and the tick in which it must be emptied.
    ///
    /// All slots of a level lie before the next slot of the level above, so the first hit is it.
    fn next_event(&self) -> Option<(u64, usize)> {
        for (level, words) in self.occupied.iter().enumerate() {
            if let Some(word) = words.iter().position(|&word| word != 0) {
                let slot = word * 64 + words[word].trailing_zeros() as usize;
                let block = self.now >> (8 * (level + 1)) << (8 * (level + 1));
                return Some((block | (slot as u64) << (8 * level), level * SLOTS + slot));
            }
        }
        let next_round = ((self.now >> 32) + 1) << 32;
        (self.lists[BEYOND] != NONE).then_some((next_round, BEYOND))
    }

    /// Puts a free entry into the list that its deadline and the current tick name.
    fn place(&mut self, index: u32) {
        let deadline = self.entries[index as usize].deadline;
        let list = if deadline <= self.now {
            DUE
        } else {
            let level = (deadline ^ self.now).ilog2() as usize / 8;
            if level < LEVELS {
                level * SLOTS + (deadline >> (8 * level)) as usize % SLOTS
            } else {
                BEYOND
            }
        };
        self.append(list, index);
    }

    /// Places every entry of a circle that belongs to no list any more.
    fn place_chain(&mut self, first: u32) {
        if first == NONE {
            return;
        }
        let last = self.entries[first as usize].previous;
        let mut index = first;
        loop {
            let next = self.entries[index as usize].next;
            self.place(index);
            if index == last {
                return;
            }
            index = next;
        }
    }

    fn go_back(&mut self, now: u64) {
        self.now = now;
        // Lists in the order of time, so that equal deadlines keep their order.
        let in_order = [DUE].into_iter().chain(0..=BEYOND);
        let chains: Vec<u32> = in_order.map(|list| self.detach(list)).collect();
        for chain in chains {
            self.place_chain(chain);
        }
    }

    fn append(&mut self, list: usize, index: u32) {
        let first = self.lists[list];
        let last = if first == NONE {
            self.lists[list] = index;
            self.mark(list, true);
            index
        } else {
            self.entries[first as usize].previous
        };
        let first = self.lists[list];
        self.entries[last as usize].next = index;
        self.entries[first as usize].previous = index;
        let entry = &mut self.entries[index as usize];
        (entry.list, entry.next, entry.previous) = (list as u16, first, last);
    }

    fn unlink(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (list, next, previous) = (usize::from(entry.list), entry.next, entry.previous);
        if next == index {
            self.detach(list);
            return;
        }
        self.entries[previous as usize].next = next;
        self.entries[next as usize].previous = previous;
        if self.lists[list] == index {
            self.lists[list] = next;
        }
    }

    /// Empties a list and returns the first entry of its circle.
    fn detach(&mut self, list: usize) -> u32 {
        self.mark(list, false);
        std::mem::replace(&mut self.lists[list], NONE)
    }

    fn mark(&mut self, list: usize, is_occupied: bool) {
        let (level, slot) = (list / SLOTS, list % SLOTS);
        if let Some(words) = self.occupied.get_mut(level) {
            let bit = 1 << (slot % 64);
            if is_occupied {
                words[slot / 64] |= bit;
            } else {
                words[slot / 64] &= !bit;
            }
        }
    }

    fn take_entry(&mut self) -> u32 {
        if self.free != NONE {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            return index;
        }
        let index = self.entries.len() as u32;
        assert!(index != NONE, "more timers than 32 bits can number");
        self.entries.push(Entry {
            value: None,
            deadline: 0,
            list: DUE as u16,
            generation: 0,
            next: NONE,
            previous: NONE,
        });
        index
    }

    /// Takes the value of an entry that is in no list and gives the entry back.
    fn release(&mut self, index: u32) -> Option<T> {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.next = self.free;
        self.free = index;
        self.len -= 1;
        entry.value.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fired(wheel: &mut Wheel<u32>, now: u64) -> Vec<u32> {
        let mut values = Vec::new();
        wheel.advance(now, |value| values.push(value));
        values
    }

    #[test]
    fn timers_fire_in_their_tick() {
        let mut wheel = Wheel::new(MILLISECOND);
        for deadline in [300, 3, 70_000, 3, 20_000_000, 6_000_000_000] {
            wheel.start(deadline, deadline as u32);
        }

        assert_eq!(fired(&mut wheel, 2), []);
        assert_eq!(fired(&mut wheel, 3), [3, 3]);
        assert_eq!(fired(&mut wheel, 299), []);
        assert_eq!(fired(&mut wheel, 300), [300]);
        assert_eq!(fired(&mut wheel, 69_999), []);
        assert_eq!(fired(&mut wheel, 20_000_000), [70_000, 20_000_000]);
        assert_eq!(fired(&mut wheel, 5_999_999_999), []);
        assert_eq!(fired(&mut wheel, 6_000_000_000), [6_000_000_000u64 as u32]);
        assert!(wheel.is_empty() && wheel.next_deadline().is_none());
    }

    #[test]
    fn stopped_timer_does_not_fire_and_its_handle_is_spent() {
        let mut wheel = Wheel::new(MILLISECOND);
        let first = wheel.start(10, 1);
        assert_eq!(wheel.stop(first), Some(1));
        let second = wheel.start(10, 2);

        assert_eq!(wheel.stop(first), None, "the entry is in use again");
        assert_eq!(fired(&mut wheel, 10), [2]);
        assert_eq!(wheel.stop(second), None);
    }

    #[test]
    fn timer_that_is_due_may_still_be_stopped() {
        let mut wheel = Wheel::new(MILLISECOND);
        wheel.start(10, 1);
        let second = wheel.start(11, 2);
        wheel.start(12, 3);

        assert_eq!(wheel.pop(20), Some(1));
        assert_eq!(wheel.stop(second), Some(2));
        assert_eq!((wheel.pop(20), wheel.pop(20)), (Some(3), None));
    }

    #[test]
    fn clock_set_back_does_not_make_new_timers_due() {
        let mut wheel = Wheel::new(MILLISECOND);
        wheel.start(1_000_000, 1);
        assert_eq!(fired(&mut wheel, 900_000), []);

        wheel.start(600, 2);
        assert_eq!(fired(&mut wheel, 500), []);
        assert_eq!(fired(&mut wheel, 600), [2]);
        assert_eq!(fired(&mut wheel, 1_000_000), [1]);
    }

    #[test]
    fn no_entry_is_added_while_timers_come_and_go() {
        let mut wheel = Wheel::new(MILLISECOND);
        for round in 0..1000 {
            wheel.start(round * 7 + 500, 0);
            wheel.start(round * 7 + 1, 0);
            fired(&mut wheel, round * 7);
        }
        assert!(wheel.entries.len() < 100, "{}", wheel.entries.len());
    }

    #[test]
    fn deadlines_are_never_early() {
        let wheel = Wheel::<()>::new(MILLISECOND);
        assert_eq!((wheel.tick_at(1.0004), wheel.deadline_at(1.0004)), (1000, 1001));
        assert!(wheel.seconds_at(wheel.deadline_at(1.0004)) >= 1.0004);
        for tick in 0..10_000 {
            let seconds = wheel.seconds_at(tick);
            assert_eq!((wheel.tick_at(seconds), wheel.deadline_at(seconds)), (tick, tick));
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Start { after: i64 },
        Stop { nth: usize },
        Advance { by: i64 },
        FollowNextDeadline,
    }

    fn span() -> impl Strategy<Value = i64> {
        prop_oneof![-600i64..600, 0i64..70_000, 0i64..20_000_000, 0i64..(1 << 34)]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => span().prop_map(|after| Step::Start { after }),
            2 => any::<usize>().prop_map(|nth| Step::Stop { nth }),
            2 => span().prop_map(|by| Step::Advance { by }),
            2 => Just(Step::FollowNextDeadline),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 1..120)) {
            let mut wheel = Wheel::new(MILLISECOND);
            let mut pending: Vec<(u64, u32, Handle)> = Vec::new();
            let mut now = 0u64;
            for (number, step) in (0u32..).zip(steps) {
                let target = match step {
                    Step::Start { after } => {
                        let deadline = now.saturating_add_signed(after);
                        pending.push((deadline, number, wheel.start(deadline, number)));
                        continue;
                    }
                    Step::Stop { nth } if !pending.is_empty() => {
                        let (_, value, handle) = pending.remove(nth % pending.len());
                        prop_assert_eq!(wheel.stop(handle), Some(value));
                        prop_assert_eq!(wheel.stop(handle), None);
                        continue;
                    }
                    Step::Stop { .. } => continue,
                    Step::Advance { by } => now.saturating_add_signed(by),
                    Step::FollowNextDeadline => wheel.next_deadline().unwrap_or(now),
                };
                if let Some(next) = wheel.next_deadline() {
                    let is_early = pending.iter().any(|&(deadline, ..)| deadline.max(now) < next);
                    prop_assert!(!is_early, "a timer fires before {}", next);
                }
                let (mut due, rest): (Vec<_>, _) =
                    pending.into_iter().partition(|&(deadline, ..)| deadline <= target);
                // What was late when it was started fires first, in the order of starts.
                due.sort_by_key(|&(deadline, value, _)| (deadline.max(now.min(target)), value));
                let expected: Vec<u32> = due.iter().map(|&(_, value, _)| value).collect();
                prop_assert_eq!(fired(&mut wheel, target), expected);
                pending = rest;
                now = target;
                prop_assert_eq!(wheel.len(), pending.len());
            }
        }
    }
}
