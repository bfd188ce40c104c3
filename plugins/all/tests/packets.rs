//! The tests of all plugins: packets in, packets and all moved counters out.

#[path = "../../mss_clamp/tests.rs"]
mod mss_clamp;
