//! `wg-timer-manager`: timed work for peers. Nodes only record when messages were sent and
//! received; the process checks this at least once a second while there are peers.

use net::prelude::*;

use super::keypair::REJECT_AFTER;
use super::peer::{self, Peer};
use super::{Wireguard, apart, handshake};

/// The process.
pub const PROCESS: &str = "wg-timer-manager";
/// Seconds between two initiations.
pub const REKEY_TIMEOUT: f64 = 5.0;
/// Seconds after which the initiator of a session starts another when it sends, and when it
/// receives.
const REKEY_AFTER: f64 = 120.0;
const REKEY_AFTER_RECEIVING: f64 = REJECT_AFTER - KEEPALIVE - REKEY_TIMEOUT;
/// Seconds for which initiations are sent without a response.
const GIVE_UP: f64 = 90.0;
/// Seconds within which a packet is answered, by nothing if there is nothing to send.
const KEEPALIVE: f64 = 10.0;
/// Seconds between two looks, at most and at least.
const LOOK: f64 = 1.0;
const PAUSE: f64 = 0.02;

/// Work that is due for a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Due {
    handshake: bool,
    keepalive: bool,
    /// The other end has not answered for too long.
    is_lost: bool,
    /// No session is good any more.
    is_over: bool,
}

/// Starts the process.
pub(super) fn spawn(router: &mut Router) {
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| look(router)));
}

fn look(router: &mut Router) -> Wake {
    let now = router.now();
    let all = router.own_mut::<Wireguard>();
    if all.peers.is_empty() {
        return Wake::OnEvent;
    }
    let mut next = now + LOOK;
    let is_up = |peer: &Peer| all.interfaces.get(&peer.interface).is_some_and(|own| own.is_up);
    let up = all.peers.iter_mut().filter(|(_, peer)| is_up(peer));
    let due: Vec<_> = up
        .map(|(number, peer)| (*number, judge(peer, now, &mut next)))
        .filter(|(_, due)| *due != Due::default())
        .collect();
    for (number, due) in due {
        if due.is_over {
            peer::end_sessions(router, number);
        }
        if due.is_lost {
            peer::end_sessions(router, number);
            peer::set_dead(router, number, true);
        }
        if due.handshake {
            handshake::begin(router, number);
        }
        if due.keepalive {
            handshake::keep_alive(router, number);
        }
    }
    Wake::AfterOrEvent(Duration::from_secs_f64((next - router.now()).clamp(PAUSE, LOOK)))
}

/// Seconds of a time that a node noted; `None` for never.
fn time(noted: u64) -> Option<f64> {
    (noted > 0).then_some(noted as f64 / 1e3)
}

/// Due work, given what nodes have noted; `next` becomes the time of the next thing if that is
/// earlier.
fn judge(peer: &mut Peer, now: f64, next: &mut f64) -> Due {
    let mut due = Due::default();
    let mut at = |time: f64| {
        *next = next.min(time.max(now));
        now >= time
    };
    let activity = &peer.activity;
    let [data_sent, data_received, sent, received] =
        [&activity.data_sent, &activity.data_received, &activity.sent, &activity.received]
            .map(|noted| time(noted.value()));
    let sent_later = |a: Option<f64>, b: Option<f64>| a > b;
    if let Some(attempt) = &peer.attempt {
        // A clock that went back must not keep it waiting.
        let is_odd = attempt.again - now > 2.0 * REKEY_TIMEOUT;
        if apart(now, attempt.since) >= GIVE_UP {
            due.is_lost = true;
        } else if at(attempt.again) || is_odd {
            due.handshake = true;
        }
    }
    if let Some(current) = &peer.current {
        if current.is_over(now) {
            due.is_over = peer.keypairs().all(|keypair| keypair.is_over(now));
        } else if current.is_initiator && peer.attempt.is_none() {
            let aged = data_sent >= Some(current.born + REKEY_AFTER)
                || data_received >= Some(current.born + REKEY_AFTER_RECEIVING);
            due.handshake |= aged;
        }
    }
    peer.lacks_answer = match sent_later(data_sent, received) {
        true => peer.lacks_answer.or(data_sent),
        false => None,
    };
    if let Some(since) = peer.lacks_answer
        && at(since + KEEPALIVE + REKEY_TIMEOUT)
        && peer.attempt.is_none()
    {
        (due.handshake, peer.lacks_answer) = (true, None);
    }
    peer.owes_answer = match sent_later(data_received, sent) {
        true => peer.owes_answer.or(data_received),
        false => None,
    };
    if let Some(since) = peer.owes_answer
        && at(since + KEEPALIVE)
    {
        (due.keepalive, peer.owes_answer) = (true, None);
    }
    if peer.keepalive > 0 {
        let last = [sent, received].into_iter().flatten().fold(peer.kept_alive, f64::max).min(now);
        if at(last + f64::from(peer.keepalive)) {
            peer.kept_alive = now;
            due.keepalive |= peer.current.is_some();
            due.handshake |= peer.current.is_none() && peer.attempt.is_none();
        }
    }
    due
}
