//! The supervisor's view of the daemon, by systemd's notification protocol (`sd_notify(3)`): ready
//! when the start-up configuration is carried out, alive while control and all data-plane threads
//! answer, about to end. Without `NOTIFY_SOCKET` in the environment nothing is sent.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use net::Router;
use sd_notify::NotifyState;
use tokio::time::sleep;

/// Says that all that was to be carried out at start is.
pub fn ready() {
    send(&[NotifyState::Ready, NotifyState::Status("forwarding")]);
}

/// Says that the daemon ends.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Says that the daemon is alive, twice in the time that the supervisor waits (`WATCHDOG_USEC`),
/// as long as every data-plane thread answers. Ends at once where nobody waits for it.
pub async fn watchdog(router: Rc<RefCell<Router>>) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        if router.borrow_mut().engine.pool_usage().is_ok() {
            send(&[NotifyState::Watchdog]);
        }
        sleep((limit / 2).max(Duration::from_millis(1))).await;
    }
}

/// A supervisor that is gone is nobody's loss.
fn send(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
