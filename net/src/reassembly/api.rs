//! Messages about reassembly, of the module `ip`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval};

use super::{Config, Kind};
use crate::interface::InterfaceIndex;
use crate::router::Router;

control::numbers! {
    /// Type of reassembly.
    pub enum IpReassType: u32 = "ip_reass_type" in "" {
        FULL = 0 => "IP_REASS_TYPE_FULL",
        SHALLOW_VIRTUAL = 1 => "IP_REASS_TYPE_SHALLOW_VIRTUAL",
    }
}

/// Set the limits of reassembly.
#[derive(Message)]
struct IpReassemblySet {
    /// reassembly timeout in milliseconds
    timeout_ms: u32,
    /// maximum concurrent reassemblies per thread
    max_reassemblies: u32,
    /// maximum fragments per packet
    max_reassembly_length: u32,
    /// milliseconds between checks for expired reassemblies
    expire_walk_interval_ms: u32,
    /// True for IPv6, false for IPv4
    is_ip6: bool,
    #[name("type")]
    kind: IpReassType,
}

/// Get the limits of reassembly.
#[derive(Message)]
#[reply(IpReassemblyGetReply)]
struct IpReassemblyGet {
    /// True for IPv6, false for IPv4
    is_ip6: bool,
    #[name("type")]
    kind: IpReassType,
}

/// Limits of reassembly.
#[derive(Message)]
struct IpReassemblyGetReply {
    timeout_ms: u32,
    max_reassemblies: u32,
    max_reassembly_length: u32,
    expire_walk_interval_ms: u32,
    is_ip6: bool,
}

/// Enable or disable reassembly on an interface, by address family.
#[derive(Message)]
struct IpReassemblyEnableDisable {
    sw_if_index: InterfaceIndex,
    enable_ip4: bool,
    enable_ip6: bool,
    #[name("type")]
    kind: IpReassType,
}

/// Enable or disable reassembly of packets to the router, by address family.
#[derive(Message)]
struct IpLocalReassEnableDisable {
    enable_ip4: bool,
    enable_ip6: bool,
}

/// Get whether packets to the router are reassembled.
#[derive(Message)]
#[reply(IpLocalReassGetReply)]
struct IpLocalReassGet {}

/// Whether packets to the router are reassembled.
#[derive(Message)]
struct IpLocalReassGetReply {
    ip4_is_enabled: bool,
    ip6_is_enabled: bool,
}

fn kind(kind: IpReassType) -> Result<Kind, Retval> {
    match kind {
        IpReassType::FULL => Ok(Kind::Full),
        IpReassType::SHALLOW_VIRTUAL => Ok(Kind::Shallow),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn ms(seconds: f64) -> u32 {
    (seconds * 1e3).round() as u32
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", "3.2.0")
        .call(|router: &mut Router, m: IpReassemblySet| {
            let config = Config {
                timeout: f64::from(m.timeout_ms) / 1e3,
                most: m.max_reassemblies,
                longest: m.max_reassembly_length,
                walk: f64::from(m.expire_walk_interval_ms.max(1)) / 1e3,
            };
            Ok(router.set_reassembly(m.is_ip6.into(), kind(m.kind)?, config)?)
        })
        .call(|router, m: IpReassemblyGet| {
            let config = router.reassembly(m.is_ip6.into(), kind(m.kind)?);
            Ok(IpReassemblyGetReply {
                timeout_ms: ms(config.timeout),
                max_reassemblies: config.most,
                max_reassembly_length: config.longest,
                expire_walk_interval_ms: ms(config.walk),
                is_ip6: m.is_ip6,
            })
        })
        .call(|router, m: IpReassemblyEnableDisable| {
            let on = [m.enable_ip4, m.enable_ip6];
            Ok(router.enable_reassembly(m.sw_if_index, kind(m.kind)?, on)?)
        })
        .call(|router, m: IpLocalReassEnableDisable| {
            router.set_local_reassembly([m.enable_ip4, m.enable_ip6]);
            Ok(())
        })
        .call(|router, _: IpLocalReassGet| {
            let [ip4_is_enabled, ip6_is_enabled] = router.local_reassembly();
            Ok(IpLocalReassGetReply { ip4_is_enabled, ip6_is_enabled })
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::testing::Bench;

    #[test]
    fn limits_are_set_and_told() {
        let mut bench = Bench::new();
        let pg0 = bench.pg0;
        bench.talk(|local, router| {
            let set = IpReassemblySet {
                timeout_ms: 1500,
                max_reassemblies: 7,
                max_reassembly_length: 3,
                expire_walk_interval_ms: 50,
                is_ip6: true,
                kind: IpReassType::SHALLOW_VIRTUAL,
            };
            local.call(router, &set).unwrap();
            let kind = IpReassType::SHALLOW_VIRTUAL;
            let told = local.call(router, &IpReassemblyGet { is_ip6: true, kind }).unwrap();
            assert_eq!((told.timeout_ms, told.max_reassemblies, told.is_ip6), (1500, 7, true));
            assert_eq!((told.max_reassembly_length, told.expire_walk_interval_ms), (3, 50));
            let unknown = IpReassemblyGet { is_ip6: false, kind: IpReassType(9) };
            assert_eq!(local.call(router, &unknown).err(), Some(Retval::INVALID_VALUE));
            let many = IpReassemblySet { max_reassemblies: u32::MAX, ..set };
            assert_eq!(local.call(router, &many).err(), Some(Retval::INVALID_VALUE));

            let mut enable = IpReassemblyEnableDisable {
                sw_if_index: pg0,
                enable_ip4: true,
                enable_ip6: false,
                kind: IpReassType::FULL,
            };
            local.call(router, &enable).unwrap();
            let on = router.engine.features_of(pg0.0);
            let on: Vec<_> = on.iter().flat_map(|(_, features)| features).collect();
            assert_eq!(on, [&"ip4-full-reassembly-feature"]);
            enable.sw_if_index = InterfaceIndex(77);
            let refused = local.call(router, &enable).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));

            let off = IpLocalReassEnableDisable { enable_ip4: false, enable_ip6: true };
            local.call(router, &off).unwrap();
            let told = local.call(router, &IpLocalReassGet {}).unwrap();
            assert_eq!((told.ip4_is_enabled, told.ip6_is_enabled), (false, true));
        });
    }

    #[test]
    fn commands_show_and_set_it() {
        let mut bench = Bench::new();
        bench.run("set interface reassembly pg0 ip6").unwrap();
        let shown = bench.run("show interface features pg0").unwrap_or_default();
        assert!(shown.is_empty() || shown.contains("ip6-full-reassembly-feature"), "{shown}");
        let error = bench.run("set interface reassembly pg0 both").unwrap_err();
        assert!(error.contains("both"), "{error}");
        for kind in ["ip4-full", "ip6-full", "ip4-sv", "ip6-sv"] {
            let shown = bench.run(&format!("show {kind}-reassembly details")).unwrap();
            let line = "-".repeat(21);
            let family = kind[..3].to_uppercase();
            let head = format!("{line}\n{family} reassembly status\n{line}\n{line}\nCurrent ");
            assert!(shown.starts_with(&head) && shown.contains("count: 0\nMaximum "), "{shown}");
            assert!(shown.contains(&format!("{family} reassembly timeout: ")), "{shown}");
        }
    }
}
