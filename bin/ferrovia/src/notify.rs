//! The supervisor's view of the daemon, by systemd's notification protocol (`sd_notify(3)`): ready
//! when the startup configuration has run, alive while control and all data-plane threads answer,
//! stopping. Without `NOTIFY_SOCKET` in the environment nothing is sent.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use net::Router;
use sd_notify::NotifyState;
use tokio::time::sleep;

/// Reports that the startup configuration has run.
pub fn ready() {
    send(&[NotifyState::Ready, NotifyState::Status("forwarding")]);
}

/// Says that the daemon ends.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Reports that the daemon is alive, twice per watchdog interval (`WATCHDOG_USEC`), as long as
/// every data-plane thread answers. Ends at once without a watchdog.
pub async fn watchdog(router: Rc<RefCell<Router>>) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        if router.borrow_mut().engine.pool_usage().is_ok() {
            send(&[NotifyState::Watchdog]);
        }
        sleep((limit / 2).max(Duration::from_millis(1))).await;
    }
}

/// A missing supervisor is no error.
fn send(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
