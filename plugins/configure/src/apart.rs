//! Work on whole configurations beside control: a million lines take longer than a turn.

use control::cli::{Error, Output};
use drivers::host::background::Background;
use net::Router;

use crate::replace::Job;

/// The continuation of a job on control.
pub type After =
    Box<dyn FnOnce(&mut Job, &mut Router) -> Option<Result<Output, Error>> + Send + 'static>;

/// Work on a thread of its own that leads to a continuation.
pub type Apart = Background<After>;

/// Lines whose freeing is worth a thread.
pub const LARGE: usize = 10_000;

/// Drops a value on a thread of its own: freeing a million lines takes longer than a turn.
pub fn let_go<T: Send + 'static>(value: T) {
    // Where there is no thread it is dropped here.
    let _ = std::thread::Builder::new().name("cleaner".to_owned()).spawn(move || drop(value));
}
