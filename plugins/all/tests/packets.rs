//! The tests of all plugins: packets in, packets and all moved counters out.

#[path = "../../mss_clamp/tests.rs"]
mod mss_clamp;
#[path = "../../source_range/tests.rs"]
mod source_range;
