//! Everything that is built in.
#![forbid(unsafe_code)]

use net::Feature;

/// The plugins, in the order they register.
const PLUGINS: &[Feature] = &[
    arping::FEATURE,
    container::FEATURE,
    dad::FEATURE,
    dad::autoremove::FEATURE,
    geneve::FEATURE,
    gre::FEATURE,
    gtpu::FEATURE,
    ipip::FEATURE,
    lldp::FEATURE,
    l2::FEATURE,
    classify::FEATURE,
    mld::FEATURE,
    mpls::FEATURE,
    mss_clamp::FEATURE,
    p2p_ethernet::FEATURE,
    ping::FEATURE,
    policer::FEATURE,
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
