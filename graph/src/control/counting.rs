//! The counters of nodes as control sees them: listed, and set to zero by the threads that count.

use std::ops::Range;
use std::sync::mpsc;

use super::errors::CounterChange;
use super::spec::Engine;
use crate::node::{Count, CounterText, Node, Reason};
use crate::worker::{NoAnswer, PATIENCE};

/// Makes a copy of a job that takes the number of a row of counters.
type CopyOfJob = dyn Fn() -> Box<dyn Fn(usize) + Send>;

impl Engine {
    /// Rows of counters, by thread.
    pub fn thread_rows(&self) -> usize {
        self.counters.threads()
    }
    /// Does `job` with the number of each row of counters, on the thread that counts there and
    /// between two of its loops, and waits until all have. This is how counters are set to zero.
    ///
    /// # Errors
    /// When a thread does not answer; others have done it.
    pub fn on_threads(
        &mut self,
        job: impl Fn(usize) + Clone + Send + 'static,
    ) -> Result<(), NoAnswer> {
        self.on_threads_dyn(Box::new(move || Box::new(job.clone())))
    }
    /// As [`Engine::on_threads`], with what makes a copy of the job.
    fn on_threads_dyn(&mut self, copy: Box<CopyOfJob>) -> Result<(), NoAnswer> {
        let threads = self.data_threads();
        // Rows that no thread counts in are control's.
        (0..self.thread_rows()).filter(|row| !threads.contains(row)).for_each(copy());
        let (answer, wait) = mpsc::channel();
        self.post_all(|_| {
            let (job, answer) = (copy(), answer.clone());
            Box::new(move |core| {
                job(core.thread());
                // The receiver is gone: the answer is not needed.
                let _ = answer.send(());
            })
        });
        drop(answer);
        for _ in threads {
            wait.recv_timeout(PATIENCE).map_err(|_| NoAnswer("of a worker".to_owned()))?;
        }
        Ok(())
    }
    /// Counts at a node what control did with its findings. No wait for the thread that counts in
    /// control's row.
    pub fn count_at<N: Node>(&mut self, what: N::Count, n: u64) {
        self.count_named(N::NAME, <N::Count as Count>::TEXTS[what.index()].name, n);
    }
    /// As [`Engine::count_at`], for a reason that control has against what the node found.
    pub fn count_reason_at<N: Node>(&mut self, why: N::Error, n: u64) {
        self.count_named(N::NAME, <N::Error as Reason>::TEXTS[why.index()].name, n);
    }
    fn count_named(&mut self, node: &str, name: &str, n: u64) {
        if n == 0 {
            return;
        }
        let Some(index) = self.errors.position(node, name) else { return };
        if self.data_threads().contains(&0) {
            self.post(0, Box::new(move |core| core.counter(index).add(n)));
        } else if let Some(counter) = self.counters.row(0).get(index) {
            counter.add(n);
        }
    }
    /// Number of data-plane threads beside the main thread.
    pub fn workers(&self) -> usize {
        self.data_threads().filter(|thread| *thread > 0).count()
    }
    pub(super) fn zero_counters(&mut self, range: Range<usize>) -> Result<(), NoAnswer> {
        let counters = self.counters.clone();
        self.on_threads(move |thread| counters.zero(thread, range.clone()))
    }
    /// Counters that came or went since it was asked last, in order.
    pub fn take_counter_changes(&mut self) -> Vec<CounterChange> {
        self.errors.take_changes()
    }
    /// All counters: number, node, text, value.
    pub fn counters(&self) -> impl Iterator<Item = (u32, &str, CounterText, u64)> {
        self.errors.iter(&self.counters)
    }
    /// The counters that moved since [`Engine::clear_errors`]: number, node, text, by how much.
    pub fn errors(&self) -> Vec<(u32, String, CounterText, u64)> {
        let before = |i: u32| self.cleared.get(i as usize).copied().unwrap_or(0);
        // A counter that is less than it was serves another node since.
        let since = |i: u32, n: u64| n.checked_sub(before(i)).unwrap_or(n);
        let moved = self.counters().map(|(i, node, text, n)| (i, node, text, since(i, n)));
        moved.filter(|e| e.3 > 0).map(|(i, node, text, n)| (i, node.to_owned(), text, n)).collect()
    }
    /// Resets [`Engine::errors`]. The counters themselves continue, as clients see them.
    pub fn clear_errors(&mut self) {
        let mut cleared = vec![0; self.errors.len()];
        for (i, .., n) in self.counters() {
            if let Some(place) = cleared.get_mut(i as usize) {
                *place = n;
            }
        }
        self.cleared = cleared;
    }
    /// Numbers that counters have or had.
    pub fn counter_count(&self) -> usize {
        self.errors.len()
    }
    /// Node and text of a counter.
    pub fn counter_text(&self, index: u32) -> Option<(&str, CounterText)> {
        self.errors.text(index)
    }
    /// `node: text` of a counter.
    pub fn describe_error(&self, index: u32) -> String {
        self.errors.describe(index)
    }
}
