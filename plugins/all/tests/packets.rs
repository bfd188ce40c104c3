//! The tests of all plugins: packets in, packets and all moved counters out.

#[path = "../../arping/tests.rs"]
mod arping;
#[path = "../../container/tests.rs"]
mod container;
#[path = "../../mld/tests.rs"]
mod mld;
#[path = "../../mss_clamp/tests.rs"]
mod mss_clamp;
#[path = "../../source_range/tests.rs"]
mod source_range;
#[path = "../../stn/tests.rs"]
mod stn;
#[path = "../../tracenode/tests.rs"]
mod tracenode;
#[path = "../../tracepath/tests.rs"]
mod tracepath;
