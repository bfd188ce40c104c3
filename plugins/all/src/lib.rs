//! Everything that is built in.
#![forbid(unsafe_code)]

use net::Feature;

/// The plugins, in the order they register.
const PLUGINS: &[Feature] = &[
    sessions::FEATURE,
    translation::FEATURE,
    arping::FEATURE,
    bond::FEATURE,
    bpf_trace_filter::FEATURE,
    cdp::FEATURE,
    container::FEATURE,
    dad::FEATURE,
    dad::autoremove::FEATURE,
    geneve::FEATURE,
    gre::FEATURE,
    gtpu::FEATURE,
    ipip::FEATURE,
    lacp::FEATURE,
    lldp::FEATURE,
    l2::FEATURE,
    l2tp::FEATURE,
    dvr::FEATURE,
    l3xc::FEATURE,
    classify::FEATURE,
    l2_rewrite::FEATURE,
    adl::FEATURE,
    ipfix::FEATURE,
    syslog::FEATURE,
    map::FEATURE,
    mld::FEATURE,
    pipe::FEATURE,
    pppoe::FEATURE,
    acl::FEATURE,
    abf::FEATURE,
    mpls::FEATURE,
    bier::FEATURE,
    udp_encap::FEATURE,
    sr_mpls::FEATURE,
    srv6::FEATURE,
    srv6_proxy::DYNAMIC,
    srv6_proxy::STATIC,
    srv6_proxy::MASQUERADING,
    mss_clamp::FEATURE,
    nat_log::FEATURE,
    nat44_ed::FEATURE,
    det44::FEATURE,
    nat44_ei::FEATURE,
    nat64::FEATURE,
    p2p_ethernet::FEATURE,
    ping::FEATURE,
    policer::FEATURE,
    qos::FEATURE,
    npt66::FEATURE,
    nat66::FEATURE,
    svs::FEATURE,
    pnat::FEATURE,
    pvti::FEATURE,
    ra::FEATURE,
    rd_cp::FEATURE,
    source_range::FEATURE,
    span::FEATURE,
    stn::FEATURE,
    tracenode::FEATURE,
    tracepath::FEATURE,
    vxlan::FEATURE,
    vxlan_gpe::FEATURE,
    traceroute::FEATURE,
    urpf::FEATURE,
];

/// All features: the core, the loader of plugins in files, the plugins, the drivers, in the order
/// they register.
pub fn features() -> impl Iterator<Item = &'static Feature> {
    let core = net::FEATURES.iter().chain([&loader::FEATURE]);
    core.chain(PLUGINS).chain(drivers::FEATURES)
}
