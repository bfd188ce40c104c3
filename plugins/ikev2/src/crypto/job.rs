//! Public-key work: described, so that it may be done elsewhere, and done.

use std::sync::Arc;

use super::group::{Group, Private, agree, generate};
use super::keys::Hidden;
use super::signature::{PrivateKey, PublicKey};

/// Work to be done.
#[derive(Debug)]
pub enum Job {
    /// Make a private value and its public one.
    Generate(Group),
    /// Share a secret with who sent a public value.
    Agree(Group, Private, Vec<u8>),
    /// Both, for who answers.
    Respond(Group, Vec<u8>),
    /// Sign some bytes, for an end that announced hashes.
    Sign(Arc<PrivateKey>, Vec<u8>, Vec<u16>),
    /// Check a signature by a method.
    Verify(PublicKey, (u8, Vec<u8>), Vec<u8>),
}

/// What became of it.
#[derive(Debug)]
pub enum Done {
    /// Private and public value.
    Generated(Private, Vec<u8>),
    /// The secret.
    Shared(Hidden),
    /// The public value and the secret.
    Responded(Vec<u8>, Hidden),
    /// Method and proof.
    Signed(u8, Vec<u8>),
    /// The signature is right.
    Verified,
    /// It cannot be done, or the signature is wrong.
    Failed,
}

impl Job {
    /// Whether it takes longer than control may take at a time (2 ms).
    pub fn is_slow(&self) -> bool {
        match self {
            Self::Generate(group) | Self::Agree(group, ..) | Self::Respond(group, _) => {
                group.is_slow()
            }
            Self::Sign(..) => true,
            Self::Verify(..) => false,
        }
    }
    /// Does it.
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
            Self::Verify(key, (method, proof), signed) => {
                key.verify(method, &proof, &signed).then_some(Done::Verified)
            }
        };
        done.unwrap_or(Done::Failed)
    }
}
