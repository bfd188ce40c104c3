//! A wait of others than control for what threads were left to do.

use std::convert::Infallible;
use std::sync::mpsc;

use super::spec::Engine;

/// Ends when threads have done what was left for them.
pub struct UntilDone(mpsc::Receiver<Infallible>);

impl UntilDone {
    /// Waits for that.
    pub fn wait(self) {
        // Nothing is ever sent: it ends when the last thread drops its end.
        let _ = self.0.recv();
    }
}

impl Engine {
    /// The end of all that was left for threads until now. Control need not wait for it.
    pub fn until_done(&mut self) -> UntilDone {
        let (done, wait) = mpsc::channel::<Infallible>();
        self.post_all(|_| {
            let done = done.clone();
            Box::new(move |_| drop(done))
        });
        UntilDone(wait)
    }
}
