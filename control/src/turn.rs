//! Time slices of clients: however much work one requests, others get their turn after 2 ms.
//!
//! A runtime on one thread goes on with a task until that has to wait. A task whose events are
//! always there already would never wait, so its loop waits through a [`Turn`].

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;

/// Longest time that one client is served while others wait.
pub(crate) const TURN: Duration = Duration::from_millis(2);
/// Shortest pause of work that asks for one, even for none at all: an interval of zero that a
/// client chose is this.
pub(crate) const SHORTEST: Duration = Duration::from_millis(1);

/// The turn of one client.
#[derive(Debug)]
pub(crate) struct Turn {
    end: Instant,
}

impl Turn {
    /// A turn that begins now.
    pub fn new() -> Self {
        Self { end: now() + TURN }
    }

    /// Whether it has taken its time.
    pub fn is_over(&self) -> bool {
        now() >= self.end
    }

    /// Waits for `event`. If that has occurred already, others come first if this turn is over.
    pub async fn wait<F: Future>(&mut self, event: F) -> F::Output {
        let (mut event, mut has_waited) = (pin!(event), false);
        let output = poll_fn(|cx| {
            let polled = event.as_mut().poll(cx);
            has_waited |= polled.is_pending();
            polled
        })
        .await;
        if has_waited {
            *self = Self::new();
        } else if self.is_over() {
            self.pass().await;
        }
        output
    }

    /// Lets others have theirs.
    pub async fn pass(&mut self) {
        yield_now().await;
        *self = Self::new();
    }
}

/// The pause for work that requests `time`.
pub(crate) fn pause(time: Duration) -> Duration {
    time.max(SHORTEST)
}

#[allow(clippy::disallowed_methods, reason = "turns are real time, not router time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;
    use std::rc::Rc;

    use rustix::time::{ClockId, clock_gettime};
    use tokio::runtime::Builder;
    use tokio::task::{LocalSet, spawn_local};

    use super::*;

    /// Turns of another one to wait for.
    const TURNS: u32 = 20;

    /// Processor time of this thread.
    fn processor_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    #[test]
    fn others_have_their_turn_though_there_is_always_more_to_do() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let turns = Rc::new(Cell::new(0u32));
            let count = Rc::clone(&turns);
            let other = spawn_local(async move {
                loop {
                    count.set(count.get() + 1);
                    yield_now().await;
                }
            });
            let (mut turn, start, work) = (Turn::new(), now(), processor_time());
            while turns.get() < TURNS {
                turn.wait(ready(())).await;
                assert!(now() - start < Duration::from_secs(60), "{} turns", turns.get());
            }
            other.abort();
            // A turn takes as long as it may, and no more: on a machine with other things to do,
            // it does less in its time.
            let (took, worked) = (now() - start, processor_time() - work);
            assert!(took >= TURN * (TURNS - 1), "{TURNS} turns in {took:?}");
            assert!(worked < 4 * TURN * TURNS, "{TURNS} turns with {worked:?} of work");
        });
    }

    #[test]
    fn a_pause_is_never_none() {
        assert_eq!(pause(Duration::ZERO), SHORTEST);
        assert_eq!(pause(Duration::from_nanos(1)), SHORTEST);
        assert_eq!(pause(Duration::from_secs(1)), Duration::from_secs(1));
    }
}
