//! Times, versions and levels of the log.

use super::super::field::Alias;
use crate::api::Record;
use crate::numbers;

const FILE: &str = "vpp/api/vpe_types.api";

/// Seconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Timestamp(pub f64);

impl Alias for Timestamp {
    type Wire = f64;
    const NAME: &'static str = "timestamp";
    const FILE: &'static str = FILE;

    fn to_wire(&self) -> f64 {
        self.0
    }

    fn of_wire(seconds: f64) -> Self {
        Self(seconds)
    }
}

/// Seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Timedelta(pub f64);

impl Alias for Timedelta {
    type Wire = f64;
    const NAME: &'static str = "timedelta";
    const FILE: &'static str = FILE;

    fn to_wire(&self) -> f64 {
        self.0
    }

    fn of_wire(seconds: f64) -> Self {
        Self(seconds)
    }
}

/// A version by semver.org.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
#[file("vpp/api/vpe_types.api")]
pub struct Version {
    /// incompatible changes
    pub major: u32,
    /// additions
    pub minor: u32,
    /// corrections
    pub patch: u32,
    /// mark of a version still to come
    pub pre_release: [u8; 17],
    /// note on the build
    pub build_metadata: [u8; 17],
}

numbers! {
    /// Severity of a log entry.
    pub enum LogLevel: u32 = "log_level" in "vpp/api/vpe_types.api" {
        EMERG = 0 => "VPE_API_LOG_LEVEL_EMERG",
        ALERT = 1 => "VPE_API_LOG_LEVEL_ALERT",
        CRIT = 2 => "VPE_API_LOG_LEVEL_CRIT",
        ERR = 3 => "VPE_API_LOG_LEVEL_ERR",
        WARNING = 4 => "VPE_API_LOG_LEVEL_WARNING",
        NOTICE = 5 => "VPE_API_LOG_LEVEL_NOTICE",
        INFO = 6 => "VPE_API_LOG_LEVEL_INFO",
        DEBUG = 7 => "VPE_API_LOG_LEVEL_DEBUG",
        DISABLED = 8 => "VPE_API_LOG_LEVEL_DISABLED",
    }
}
