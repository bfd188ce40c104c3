//! Bytes of keys.
#![forbid(unsafe_code)]

use std::fmt;

use zeroize::Zeroize;

/// Secret bytes: never printed, and overwritten on drop.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(pub Vec<u8>);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(control::HIDDEN)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
