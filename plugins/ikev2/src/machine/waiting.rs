//! Public-key work that an association waits for.

use super::ask::Ask;

/// Sealed payloads of a message: kind of the first, and their bytes.
pub type Plain = (u8, Vec<u8>);

/// What goes on once the work is done.
#[derive(Debug)]
pub enum Waiting {
    /// The first message is sent, with the value that is made.
    Begin,
    /// The answer to it came, with algorithms and a value.
    Begun,
    /// The first message came; its answer is sent.
    Answer {
        /// Number of the proposal that is chosen.
        proposal: u8,
    },
    /// The proof of who answers is sent, as signed.
    ProveFirst,
    /// The proof of who began is checked; number of the request, and what is in it.
    Check(u32, Plain),
    /// The proof of who answers is signed.
    Prove(u32, Plain),
    /// The proof of who answers is checked.
    CheckAnswer(Plain),
    /// A child with a key exchange of its own is answered.
    Child(u32, Plain),
    /// The association is replaced here: the value is made.
    Replace,
    /// The answer came: keys are made.
    Replaced(Ask, Plain),
    /// The association is replaced there.
    ReplaceAnswer(u32, Plain),
}
