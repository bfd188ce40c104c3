//! Messages of the module `l3xc`.

use control::api::Record;
use net::fib::types::FibPath;
use net::fib::{Path, RouteOf};
use net::prelude::*;

use super::Key;

/// Get the version of the feature.
#[derive(Message)]
#[reply(L3xcPluginGetVersionReply)]
pub struct L3xcPluginGetVersion {}

/// The version of the feature.
#[derive(Message)]
#[head(details)]
pub struct L3xcPluginGetVersionReply {
    /// major version
    pub major: u32,
    /// minor version
    pub minor: u32,
}

/// A cross-connect.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
#[file("")]
pub struct L3xc {
    /// interface to cross-connect
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ip6: bool,
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// Set the layer 3 cross-connect of an interface.
#[derive(Message)]
#[reply(L3xcUpdateReply)]
pub struct L3xcUpdate {
    /// cross-connect
    pub l3xc: L3xc,
}

/// Reply: success.
#[derive(Message)]
pub struct L3xcUpdateReply {
    /// index of its counters in `/net/route`
    pub stats_index: u32,
}

/// Delete the layer 3 cross-connect of an interface.
#[derive(Message)]
pub struct L3xcDel {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ip6: bool,
}

/// List cross-connects.
#[derive(Message)]
#[details(L3xcDetails)]
pub struct L3xcDump {
    /// only this interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A cross-connect.
#[derive(Message)]
pub struct L3xcDetails {
    /// cross-connect
    pub l3xc: L3xc,
}

fn key(interface: InterfaceIndex, is_ip6: bool) -> Key {
    Key { interface, version: IpVersion::six(is_ip6) }
}

impl L3xc {
    fn of(router: &Router, (Key { interface, version }, paths): (Key, &[Path])) -> Self {
        let path = |path| FibPath::of_link(router, version.into(), path);
        let paths = paths.iter().take(usize::from(u8::MAX)).map(path).collect();
        Self { sw_if_index: interface, is_ip6: version == IpVersion::V6, paths }
    }
    fn set(&self, router: &mut Router) -> Result<u32, Retval> {
        let key = key(self.sw_if_index, self.is_ip6);
        router.interfaces.at(key.interface).ok_or(Retval::INVALID_SW_IF_INDEX)?;
        let path = |path: &FibPath| path.native_of(router, RouteOf::Link(key.version.into()));
        let paths = self.paths.iter().map(path).collect::<Result<_, _>>()?;
        Ok(super::set(router, key, paths)?)
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("l3xc", "1.0.1")
        .call(|_: &mut Router, _: L3xcPluginGetVersion| {
            Ok(L3xcPluginGetVersionReply { major: 1, minor: 0 })
        })
        .call(|router: &mut Router, m: L3xcUpdate| {
            Ok(L3xcUpdateReply { stats_index: m.l3xc.set(router)? })
        })
        .call(|router: &mut Router, m: L3xcDel| {
            Ok(super::remove(router, key(m.sw_if_index, m.is_ip6))?)
        })
        .dump(|router: &mut Router, m: L3xcDump| {
            let is_meant = |k: &Key| m.sw_if_index.0 == u32::MAX || m.sw_if_index == k.interface;
            let all = super::all(router).filter(|(key, _)| is_meant(key));
            all.map(|one| L3xcDetails { l3xc: L3xc::of(router, one) }).collect()
        });
}
