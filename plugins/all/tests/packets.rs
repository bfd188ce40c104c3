//! The tests of all plugins: packets in, packets and all moved counters out.

#[path = "../../arping/tests.rs"]
mod arping;
#[path = "../../classify/tests.rs"]
mod classify;
#[path = "../../container/tests.rs"]
mod container;
#[path = "../../dad/tests.rs"]
mod dad;
#[path = "../../geneve/tests.rs"]
mod geneve;
#[path = "../../gre/tests.rs"]
mod gre;
#[path = "../../gtpu/tests.rs"]
mod gtpu;
#[path = "../../ipip/tests.rs"]
mod ipip;
#[path = "../../l2/tests.rs"]
mod l2;
#[path = "../../lldp/tests.rs"]
mod lldp;
#[path = "../../mld/tests.rs"]
mod mld;
#[path = "../../mpls/tests.rs"]
mod mpls;
#[path = "../../mss_clamp/tests.rs"]
mod mss_clamp;
#[path = "../../p2p_ethernet/tests.rs"]
mod p2p_ethernet;
#[path = "../../ping/tests.rs"]
mod ping;
#[path = "../../policer/tests.rs"]
mod policer;
#[path = "../../ra/tests.rs"]
mod ra;
#[path = "../../rd_cp/tests.rs"]
mod rd_cp;
#[path = "../../source_range/tests.rs"]
mod source_range;
#[path = "../../span/tests.rs"]
mod span;
#[path = "../../stn/tests.rs"]
mod stn;
#[path = "../../tracenode/tests.rs"]
mod tracenode;
#[path = "../../tracepath/tests.rs"]
mod tracepath;
#[path = "../../traceroute/tests.rs"]
mod traceroute;
#[path = "../../urpf/tests.rs"]
mod urpf;
#[path = "../../vxlan/tests.rs"]
mod vxlan;
#[path = "../../vxlan_gpe/tests.rs"]
mod vxlan_gpe;
