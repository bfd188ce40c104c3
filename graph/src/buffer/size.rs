//! The data size of buffers, chosen once, before there is any buffer.
#![forbid(unsafe_code)]

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::layout::DATA;
use crate::engine::MOST_SLICES;

/// Bytes of the data area that there may be: the longest packet is not in more pieces than drivers
/// have the kernel fill at a time.
pub const DATA_SIZES: RangeInclusive<usize> = LEAST..=16_384;
const LEAST: usize = 1664;
const _: () = assert!(MOST_SLICES * LEAST >= 1 << 16);
/// Default bytes of the data area.
const DEFAULT: usize = 2048;
/// Not chosen yet.
const OPEN: usize = 0;

static CHOSEN: AtomicUsize = AtomicUsize::new(OPEN);

/// Reasons why a size cannot be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeError {
    /// Not one of [`DATA_SIZES`].
    OutOfRange,
    /// There are buffers of this size.
    Chosen(usize),
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange => {
                let (least, most) = (DATA_SIZES.start(), DATA_SIZES.end());
                write!(f, "{least} to {most} bytes")
            }
            Self::Chosen(bytes) => write!(f, "buffers already exist, with {bytes} bytes"),
        }
    }
}
impl std::error::Error for SizeError {}

/// Bytes of the data area of every buffer there is.
#[inline(always)]
pub fn data_size() -> usize {
    CHOSEN.load(Ordering::Relaxed)
}

/// Chooses the bytes of the data area, for all pools of this process.
///
/// # Errors
/// [`SizeError`]; nothing has changed then.
pub fn choose_data_size(bytes: usize) -> Result<(), SizeError> {
    if !DATA_SIZES.contains(&bytes) {
        return Err(SizeError::OutOfRange);
    }
    let done = CHOSEN.compare_exchange(OPEN, bytes, Ordering::Relaxed, Ordering::Relaxed);
    match done {
        Err(there) if there != bytes => Err(SizeError::Chosen(there)),
        _ => Ok(()),
    }
}

/// The size, which does not change from now on, and the distance of buffers in cache lines: odd, so
/// that their first lines spread over all cache sets.
pub(super) fn settle() -> (usize, usize) {
    // An earlier choice stays.
    let _ = choose_data_size(DEFAULT);
    let size = data_size();
    (size, (DATA as usize + size).div_ceil(64) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_chosen_once() {
        assert_eq!(settle(), (DEFAULT, 37));
        assert_eq!(choose_data_size(DEFAULT), Ok(()));
        assert_eq!(choose_data_size(9216), Err(SizeError::Chosen(DEFAULT)));
        assert_eq!(choose_data_size(LEAST - 1), Err(SizeError::OutOfRange));
        assert_eq!(choose_data_size(16_385), Err(SizeError::OutOfRange));
        assert_eq!(data_size(), DEFAULT);
    }
}
