//! Steps of an association that wait for a public-key computation.

use super::ask::Ask;
use super::{Machine, Noted, Sa, State};
use crate::codec::number::{exchange, notify};
use crate::crypto::job::Job;

/// Seconds until a computation of an initiator that found no room is tried again.
const LATER: f64 = 1.0;

/// Decrypted payloads of a message: type of the first, and all bytes.
pub type Plain = (u8, Vec<u8>);

/// The step to continue with when the computation is done.
#[derive(Debug)]
pub enum Waiting {
    /// Send IKE_SA_INIT with the generated value.
    Begin,
    /// Send IKE_AUTH after the response to IKE_SA_INIT.
    Begun,
    /// Respond to IKE_SA_INIT.
    Answer {
        /// Number of the chosen proposal.
        proposal: u8,
    },
    /// Send IKE_AUTH with our signature.
    ProveFirst,
    /// Accept the initiator's signature; message ID and content of its request.
    Check(u32, Plain),
    /// Respond to IKE_AUTH with our signature.
    Prove(u32, Plain),
    /// Accept the responder's signature.
    CheckAnswer(Plain),
    /// Respond with a child SA that has its own key exchange.
    Child(u32, Plain),
    /// Request rekeying with the generated value.
    Replace,
    /// Derive the new keys after the response.
    Replaced(Ask, Plain),
    /// Respond to the peer's rekeying.
    ReplaceAnswer(u32, Plain),
}

impl Machine {
    /// Handles a job that found no room. An initiator tries it again; a responder waits until the
    /// peer asks again.
    pub(super) fn put_off(&mut self, now: f64, sa: &mut Sa, waiting: Waiting, job: Job) {
        match waiting {
            Waiting::Answer { .. } => {
                self.count(sa.ends.node, Noted::InitIgnored);
                sa.state = State::Dead;
            }
            Waiting::Check(id, _) | Waiting::Prove(id, _) => {
                self.count(sa.ends.node, Noted::Ignored);
                sa.expected = id;
            }
            Waiting::Child(id, _) | Waiting::ReplaceAnswer(id, _) => {
                self.refuse(now, sa, (exchange::CREATE_CHILD_SA, id), notify::TEMPORARY_FAILURE);
            }
            Waiting::Replaced(Ask::Rekey { spi, .. }, _) => {
                self.by_spi.remove(&spi);
                self.rekey_later(now, sa);
            }
            Waiting::Replace | Waiting::Replaced(..) => self.rekey_later(now, sa),
            Waiting::Begin | Waiting::Begun | Waiting::ProveFirst | Waiting::CheckAnswer(_) => {
                sa.waiting = Some(waiting);
                sa.put_off = Some((now + LATER, job));
            }
        }
    }
}
