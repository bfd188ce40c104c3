//! Public-key computations, as jobs that another thread can run.

use std::sync::Arc;

use super::certificate::{Certificate, trusted};
use super::group::{Group, Private, agree, generate};
use super::keys::Hidden;
use super::signature::PrivateKey;
use crate::codec::Id;

/// A public-key computation.
#[derive(Debug)]
pub enum Job {
    /// Generate a private and a public value.
    Generate(Group),
    /// Compute the secret shared with the sender of a public value.
    Agree(Group, Private, Vec<u8>),
    /// Both, for the responder.
    Respond(Group, Vec<u8>),
    /// Sign some bytes, for a peer that supports the given hashes.
    Sign(Arc<PrivateKey>, Vec<u8>, Vec<u16>),
    /// Verify a signature made with an authentication method, and the certificate of its key.
    Verify(Box<Proof>),
}

/// A proof of identity by a signature, and what it is verified with.
#[derive(Debug)]
pub struct Proof {
    /// Certificates that are trusted.
    pub trusted: Vec<Certificate>,
    /// Certificates that the peer sent.
    pub sent: Vec<Vec<u8>>,
    /// The identity.
    pub id: Id,
    /// The method, and the signature.
    pub signature: (u8, Vec<u8>),
    /// Signed bytes.
    pub signed: Vec<u8>,
}

impl Proof {
    /// # Errors
    /// In words, what is wrong with it.
    fn check(&self) -> Result<(), String> {
        let sent: Vec<_> = self.sent.iter().map(|der| &der[..]).collect();
        let key = trusted(&self.trusted, &sent, &self.id)?;
        let (method, signature) = &self.signature;
        let is_right = key.verify(*method, signature, &self.signed);
        is_right.then_some(()).ok_or_else(|| "its signature is invalid".to_owned())
    }
}

/// Result of a computation.
#[derive(Debug)]
pub enum Done {
    /// Private and public value.
    Generated(Private, Vec<u8>),
    /// The shared secret.
    Shared(Hidden),
    /// The public value and the secret.
    Responded(Vec<u8>, Hidden),
    /// Authentication method and signature.
    Signed(u8, Vec<u8>),
    /// The signature is valid.
    Verified,
    /// The proof is invalid: the reason.
    Refused(String),
    /// The computation failed.
    Failed,
    /// The queue is full; the computation is returned.
    Busy(Box<Job>),
}

impl Job {
    /// Whether it takes longer than the control thread may run at a time (2 ms).
    pub fn is_slow(&self) -> bool {
        match self {
            Self::Generate(group) | Self::Agree(group, ..) | Self::Respond(group, _) => {
                group.is_slow()
            }
            Self::Sign(..) | Self::Verify(_) => true,
        }
    }
    /// Runs the computation.
    pub fn run(self) -> Done {
        let done = match self {
            Self::Generate(group) => {
                generate(group).map(|(private, public)| Done::Generated(private, public))
            }
            Self::Agree(group, private, public) => agree(group, private, &public).map(Done::Shared),
            Self::Respond(group, public) => generate(group).and_then(|(private, own)| {
                Some(Done::Responded(own, agree(group, private, &public)?))
            }),
            Self::Sign(key, signed, hashes) => {
                key.sign(&signed, &hashes).map(|(method, proof)| Done::Signed(method, proof))
            }
            Self::Verify(proof) => {
                Some(proof.check().map_or_else(Done::Refused, |()| Done::Verified))
            }
        };
        done.unwrap_or(Done::Failed)
    }
}
