//! The tests of all plugins: packets in, packets and all moved counters out.

#[path = "../../abf/tests.rs"]
mod abf;
#[path = "../../acl/tests.rs"]
mod acl;
#[path = "../../acl/fast_path_tests.rs"]
mod acl_fast_path;
#[path = "../../adl/tests.rs"]
mod adl;
#[path = "../../arping/tests.rs"]
mod arping;
#[path = "../../auto_sdl/tests.rs"]
mod auto_sdl;
#[path = "../../bfd/tests.rs"]
mod bfd;
#[path = "../../bier/tests.rs"]
mod bier;
#[path = "../../bond/tests.rs"]
mod bond;
#[path = "../../bpf_trace_filter/tests.rs"]
mod bpf_trace_filter;
#[path = "../../bufmon/tests.rs"]
mod bufmon;
#[path = "../../cdp/tests.rs"]
mod cdp;
#[path = "../../classify/tests.rs"]
mod classify;
#[path = "../../cnat/tests.rs"]
mod cnat;
#[path = "../../container/tests.rs"]
mod container;
#[path = "../../crypto/tests.rs"]
mod crypto_vectors;
#[path = "../../ct6/tests.rs"]
mod ct6;
#[path = "../../dad/tests.rs"]
mod dad;
#[path = "../../det44/tests.rs"]
mod det44;
#[path = "../../dhcp/tests.rs"]
mod dhcp;
#[path = "../../dhcp/tests6.rs"]
mod dhcp6;
#[path = "../../dhcp/tests6_answers.rs"]
mod dhcp6_answers;
#[path = "../../dns/tests.rs"]
mod dns;
#[path = "../../dslite/tests.rs"]
mod dslite;
#[path = "../../dvr/tests.rs"]
mod dvr;
#[path = "../../explain/tests.rs"]
mod explain;
#[path = "../../explain/fates/mod.rs"]
mod fates;
#[path = "../../firewall/tests.rs"]
mod firewall;
#[path = "../../firewall/second_opinion.rs"]
mod firewall_second_opinion;
#[path = "../../flowprobe/tests.rs"]
mod flowprobe;
#[path = "../../geneve/tests.rs"]
mod geneve;
#[path = "../../gre/tests.rs"]
mod gre;
#[path = "../../gtpu/tests.rs"]
mod gtpu;
#[path = "../../handoff/tests.rs"]
mod handoff;
#[path = "../../hs_apps/tests.rs"]
mod hs_apps;
#[path = "../../http_static/tests.rs"]
mod http_static;
#[path = "../../igmp/tests.rs"]
mod igmp;
#[path = "../../ikev2/tests.rs"]
mod ikev2_profiles;
#[path = "../../ip_session_redirect/tests.rs"]
mod ip_session_redirect;
#[path = "../../ipfix/tests.rs"]
mod ipfix;
#[path = "../../ipfix_classify/tests.rs"]
mod ipfix_classify;
#[path = "../../ipip/tests.rs"]
mod ipip;
#[path = "../../ipsec/fast_path_tests.rs"]
mod ipsec_fast_path;
#[path = "../../ipsec/tests.rs"]
mod ipsec_packets;
#[path = "../../l2/tests.rs"]
mod l2;
#[path = "../../l2/fast_path_tests.rs"]
mod l2_fast_path;
#[path = "../../l2_rewrite/tests.rs"]
mod l2_rewrite;
#[path = "../../l2_xcrw/tests.rs"]
mod l2_xcrw;
#[path = "../../l2tp/tests.rs"]
mod l2tp;
#[path = "../../l3xc/tests.rs"]
mod l3xc;
#[path = "../../lacp/tests.rs"]
mod lacp;
#[path = "../../lb/tests.rs"]
mod lb;
#[path = "../../linux_cp/tests.rs"]
mod linux_cp;
#[path = "../../lldp/tests.rs"]
mod lldp;
#[path = "../../mactime/tests.rs"]
mod mactime;
#[path = "../../map/tests.rs"]
mod map;
#[path = "../../mdata/tests.rs"]
mod mdata;
#[path = "../../mld/tests.rs"]
mod mld;
#[path = "../../mpls/tests.rs"]
mod mpls;
#[path = "../../mpls/fast_path_tests.rs"]
mod mpls_fast_path;
#[path = "../../mss_clamp/tests.rs"]
mod mss_clamp;
#[path = "../../nat44_ed/tests.rs"]
mod nat44_ed;
#[path = "../../nat44_ed/fast_path_tests.rs"]
mod nat44_ed_fast_path;
#[path = "../../nat44_ed/second_opinion.rs"]
mod nat44_ed_second_opinion;
#[path = "../../nat44_ei/tests.rs"]
mod nat44_ei;
#[path = "../../nat44_ei/request_tests.rs"]
mod nat44_requests;
#[path = "../../nat64/tests.rs"]
mod nat64;
#[path = "../../nat66/tests.rs"]
mod nat66;
#[path = "../../npol/tests.rs"]
mod npol;
#[path = "../../npt66/tests.rs"]
mod npt66;
#[path = "../../nsim/tests.rs"]
mod nsim;
mod on_tunnels;
#[path = "../../p2p_ethernet/tests.rs"]
mod p2p_ethernet;
#[path = "../../perfmon/tests.rs"]
mod perfmon;
#[path = "../../ping/tests.rs"]
mod ping;
#[path = "../../pipe/tests.rs"]
mod pipe;
#[path = "../../pnat/tests.rs"]
mod pnat;
#[path = "../../policer/tests.rs"]
mod policer;
#[path = "../../pppoe/tests.rs"]
mod pppoe;
#[path = "../../prom/tests.rs"]
mod prom;
#[path = "../../pvti/tests.rs"]
mod pvti;
#[path = "../../qos/tests.rs"]
mod qos;
#[path = "../../ra/tests.rs"]
mod ra;
#[path = "../../rd_cp/tests.rs"]
mod rd_cp;
#[path = "../../scheduler/tests.rs"]
mod scheduler;
#[path = "../../sessions/tests.rs"]
mod sessions_and_threads;
#[path = "../../sfdp/tests.rs"]
mod sfdp;
#[path = "../../sflow/tests.rs"]
mod sflow;
#[path = "../../source_range/tests.rs"]
mod source_range;
#[path = "../../span/tests.rs"]
mod span;
#[path = "../../sr_mpls/tests.rs"]
mod sr_mpls;
#[path = "../../srv6/tests.rs"]
mod srv6;
#[path = "../../srv6_mobile/tests.rs"]
mod srv6_mobile;
#[path = "../../srv6_proxy/tests.rs"]
mod srv6_proxy;
#[path = "../../stn/tests.rs"]
mod stn;
#[path = "../../svs/tests.rs"]
mod svs;
#[path = "../../syn_filter/tests.rs"]
mod syn_filter;
#[path = "../../syslog/tests.rs"]
mod syslog;
#[path = "../../tracenode/tests.rs"]
mod tracenode;
#[path = "../../tracepath/tests.rs"]
mod tracepath;
#[path = "../../traceroute/tests.rs"]
mod traceroute;
#[path = "../../translation/tests.rs"]
mod translation;
#[path = "../../translation/both_tests.rs"]
mod translation_both;
#[path = "../../udp_encap/tests.rs"]
mod udp_encap;
#[path = "../../urpf/tests.rs"]
mod urpf;
#[path = "../../vperf/tests.rs"]
mod vperf_runs;
#[path = "../../vrrp/tests.rs"]
mod vrrp;
#[path = "../../vxlan/tests.rs"]
mod vxlan;
#[path = "../../vxlan_gpe/tests.rs"]
mod vxlan_gpe;
#[path = "../../wireguard/tests.rs"]
mod wireguard;
