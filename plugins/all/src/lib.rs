//! Everything that is built in.
#![forbid(unsafe_code)]

use net::Feature;

/// The plugins, in the order they register.
const PLUGINS: &[Feature] = &[mss_clamp::FEATURE, source_range::FEATURE];

/// All features: the core, the plugins, the drivers, in the order they register.
pub fn features() -> impl Iterator<Item = &'static Feature> {
    net::FEATURES.iter().chain(PLUGINS).chain(drivers::FEATURES)
}
