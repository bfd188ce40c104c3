//! Multicast paths as messages of the binary API have them (`mfib_types`).

use control::api::Record;

use crate::fib::types::FibPath;

control::numbers! {
    /// Flags of a multicast route.
    pub enum MfibEntryFlags: u32 = "mfib_entry_flags" in "vnet/mfib/mfib_types.api" {
        NONE = 0 => "MFIB_API_ENTRY_FLAG_NONE",
        SIGNAL = 1 => "MFIB_API_ENTRY_FLAG_SIGNAL",
        DROP = 2 => "MFIB_API_ENTRY_FLAG_DROP",
        CONNECTED = 4 => "MFIB_API_ENTRY_FLAG_CONNECTED",
        ACCEPT_ALL_ITF = 8 => "MFIB_API_ENTRY_FLAG_ACCEPT_ALL_ITF",
    }
    /// Role of a path.
    pub enum MfibItfFlags: u32 = "mfib_itf_flags" in "vnet/mfib/mfib_types.api" {
        NONE = 0 => "MFIB_API_ITF_FLAG_NONE",
        NEGATE_SIGNAL = 1 => "MFIB_API_ITF_FLAG_NEGATE_SIGNAL",
        ACCEPT = 2 => "MFIB_API_ITF_FLAG_ACCEPT",
        FORWARD = 4 => "MFIB_API_ITF_FLAG_FORWARD",
        SIGNAL_PRESENT = 8 => "MFIB_API_ITF_FLAG_SIGNAL_PRESENT",
        DONT_PRESERVE = 16 => "MFIB_API_ITF_FLAG_DONT_PRESERVE",
    }
}

/// A path of a multicast route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
#[file("vnet/mfib/mfib_types.api")]
pub struct MfibPath {
    /// role of the path
    pub itf_flags: MfibItfFlags,
    /// path
    pub path: FibPath,
}
