//! A text that runs among other work.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::Server;
use crate::cli::{Output, Run, SessionRequest, Step};
use crate::origin;
use crate::turn::pause;

/// Longest interval between checks of a task that waits for a change.
const LOOK: Duration = Duration::from_millis(10);

/// Dropping it cancels what is in progress.
pub(super) struct Job<C: 'static> {
    server: Server<C>,
    run: Option<Run<C>>,
    due: Due,
    origin: Rc<str>,
}

/// Time of the next slice.
#[derive(Clone, Copy)]
enum Due {
    Now,
    At(Instant),
    Change,
}

impl<C> Job<C> {
    pub fn new(server: &Server<C>, text: &str, origin: Rc<str>) -> Self {
        Self { server: server.clone(), run: Some(Run::new(text)), due: Due::Now, origin }
    }

    /// Waits until the next slice may run. Others get their turn in any case.
    pub async fn ready(&self) {
        match self.due {
            Due::Now => tokio::task::yield_now().await,
            Due::At(time) => sleep_until(time).await,
            Due::Change => {
                // A check that finds nothing is harmless.
                let _ = timeout(LOOK, self.server.0.changed.notified()).await;
            }
        }
    }

    /// Runs a slice.
    pub fn step(&mut self, out: &mut Output) -> Step {
        let Some(run) = &mut self.run else { return Step::Done(Ok(())) };
        let shared = &self.server.0;
        let _entered = origin::enter(&self.origin);
        let step = run.step(&shared.cli, &mut shared.cx.borrow_mut(), out);
        match &step {
            Step::Done(_) => {}
            Step::Again => self.due = Due::Now,
            Step::Sleep(time) => {
                #[allow(clippy::disallowed_methods, reason = "pauses of commands are real time")]
                let now = Instant::now();
                self.due = Due::At(now + pause(*time));
            }
            Step::Wait => self.due = Due::Change,
        }
        step
    }

    /// Request of a command to its session, once.
    pub fn session_request(&mut self) -> Option<SessionRequest> {
        self.run.as_mut().and_then(Run::session_request)
    }

    /// True when the command wants its output in one piece.
    pub fn is_unpaged(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_unpaged)
    }

    /// True when a command asked to end the session.
    pub fn quits(&self) -> bool {
        self.run.as_ref().is_some_and(Run::quits)
    }
}

impl<C> Job<C> {
    /// Ends what is in progress, which may have something to say.
    pub fn cancel(&mut self, out: &mut Output) {
        // The context is borrowed here only if a panic is on its way up from a handler.
        if let Some(run) = self.run.take()
            && let Ok(mut cx) = self.server.0.cx.try_borrow_mut()
        {
            run.cancel(&mut cx, out);
        }
    }
}

impl<C> Drop for Job<C> {
    fn drop(&mut self) {
        // The client is gone.
        self.cancel(&mut Output::none());
    }
}
