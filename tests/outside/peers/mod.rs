//! Peers at memory that is shared with the router: memif in both roles, and front ends of vhost-user.
//!
//! They are in this process, or they are this test in a process of its own, which can be killed.

mod deaths;
mod devices;
mod first_packet;
mod memif;
mod vhost_user;

use std::process::{Child, Command, Stdio};

/// The variable that makes a process a peer: its kind and where its socket is.
const PEER: &str = "FERROVIA_PEER";
/// Bytes of the frames that peers send.
const FRAME: usize = 60;

/// A peer that sends and receives a frame at a time.
trait Wire {
    /// Sends a frame, and wakes the router.
    fn send(&mut self, frame: &[u8]);
    /// The next frame that was received.
    fn receive(&mut self) -> Option<Vec<u8>>;
}

/// A peer in a process of its own. Dropping it kills it.
struct Peer(Child);

impl Peer {
    fn start(what: &str) -> Self {
        let test = std::env::current_exe().expect("the test is a file");
        let child = Command::new(test)
            .args(["peers::is_a_peer", "--exact"])
            .env(PEER, what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("it is this program"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A peer's process; nothing in others.
#[test]
fn is_a_peer() {
    let Ok(what) = std::env::var(PEER) else { return };
    let words: Vec<_> = what.split(' ').collect();
    match words[..] {
        ["memif", role, socket] => memif::run(role == "slave", socket),
        ["vhost-user", side, ring, socket] => {
            vhost_user::run(side == "server", ring == "packed", socket);
        }
        _ => panic!("no peer: {what}"),
    }
}

/// A frame for the other side of the router.
fn frame() -> Vec<u8> {
    let mut frame = vec![0; FRAME];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    frame
}
