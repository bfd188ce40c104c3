//! Advertisements of other routers, for tests.

use net::nd::frame;
use net::testing::whole::*;
use wire::{MacAddr, icmp6, nd};
use zerocopy::IntoBytes;

/// An advertisement of another router.
pub fn advertisement(src: &str, lifetime: u16, prefixes: &[(&str, u8, u8, u32, u32)]) -> Vec<u8> {
    let head = nd::RouterAdvertisement {
        icmp: icmp6::Header::new(icmp6::Type::ROUTER_ADVERTISEMENT, 0),
        hop_limit: 64,
        flags: 8,
        router_lifetime: lifetime.into(),
        reachable_time: 0.into(),
        retrans_timer: 0.into(),
    };
    let mut message = [head.as_bytes(), nd::LinkLayer::source(HOST).as_bytes()].concat();
    for (addr, len, flags, valid, preferred) in prefixes {
        let prefix = format!("{addr}/{len}").parse().unwrap();
        let option = nd::PrefixInformation::new(prefix, *flags, *valid, *preferred);
        message.extend_from_slice(option.as_bytes());
    }
    let all = ip6("ff02::1");
    frame((HOST, ip6(src)), (MacAddr::for_ip6_group(all), all), message)
}
