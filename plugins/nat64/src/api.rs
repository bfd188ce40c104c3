//! Answers to the messages of the module `nat64`.

use control::api::types::Ip6Prefix as Field;
use net::prelude::*;
use sessions::slices;
use translation::numbers::NatConfigFlags;
use translation::session::Timeouts;

use crate::config::Static;
use crate::messages::*;
use crate::show::{Bound, bindings, sessions};
use crate::state::{self, Role, settings};
use crate::{requests, show};

const ANY: u32 = u32::MAX;
const ALL_PROTOCOLS: u8 = 255;

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("nat64", "1.0.0")
        .call(|router: &mut Router, m: Nat64PluginEnableDisable| {
            let done = match m.enable {
                true => state::enable(router, m.bib_buckets, m.st_buckets),
                false => state::disable(router),
            };
            Ok(done?)
        })
        .call(|router, m: Nat64SetTimeouts| {
            let Nat64SetTimeouts { udp, tcp_established, tcp_transitory, icmp } = m;
            let (established, transitory) = (tcp_established, tcp_transitory);
            Ok(requests::set_timeouts(router, Timeouts { udp, established, transitory, icmp })?)
        })
        .call(|router, _: Nat64GetTimeouts| {
            let Timeouts { udp, established, transitory, icmp } = settings(router)?.timeouts;
            let (tcp_established, tcp_transitory) = (established, transitory);
            Ok(Nat64GetTimeoutsReply { udp, tcp_established, tcp_transitory, icmp })
        })
        .call(|router, m: Nat64AddDelInterface| {
            let is_inside = m.flags.contains(NatConfigFlags::INSIDE);
            Ok(requests::set_side(router, m.sw_if_index, is_inside, m.is_add)?)
        })
        .dump(|router, _: Nat64InterfaceDump| {
            let row = |(sw_if_index, role): (_, &Role)| Nat64InterfaceDetails {
                flags: NatConfigFlags::NONE
                    .with(NatConfigFlags::INSIDE, role.is_inside)
                    .with(NatConfigFlags::OUTSIDE, role.is_outside),
                sw_if_index,
            };
            router.settings::<Role>().map(row).collect()
        });
    register_addresses(api);
    register_sessions(api);
}

fn register_addresses(api: &mut Api<Router>) {
    api.plugin("nat64", "1.0.0")
        .call(|router: &mut Router, m: Nat64AddDelPoolAddrRange| {
            let vrf = Some(m.vrf_id).filter(|vrf| *vrf != ANY);
            let range = [m.start_addr, m.end_addr];
            Ok(requests::set_addresses(router, range, vrf, m.is_add)?)
        })
        .dump(|router, _: Nat64PoolAddrDump| {
            let row = |(address, vrf): (_, Option<u32>)| Nat64PoolAddrDetails {
                address,
                vrf_id: vrf.unwrap_or(ANY),
            };
            let pool = settings(router).map(|s| state::pool(router, s).map(row).collect());
            pool.unwrap_or_default()
        })
        .call(|router, m: Nat64AddDelInterfaceAddr| {
            Ok(requests::set_interface_address(router, m.sw_if_index, m.is_add)?)
        })
        .call(|router, m: Nat64AddDelPrefix| {
            let prefix = Ip6Prefix::new(m.prefix.address, m.prefix.len);
            let prefix = prefix.map_err(|_| Retval::INVALID_VALUE)?;
            Ok(requests::set_prefix(router, prefix, (m.vrf_id, None), m.is_add)?)
        })
        .dump(|router, _: Nat64PrefixDump| {
            let all = settings(router).map(|s| s.prefixes.clone()).unwrap_or_default();
            let row = |(vrf_id, prefix): (u32, Ip6Prefix)| Nat64PrefixDetails {
                prefix: Field { address: prefix.addr(), len: prefix.prefix_len() },
                vrf_id,
            };
            all.into_iter().map(row).collect()
        });
}

fn register_sessions(api: &mut Api<Router>) {
    api.plugin("nat64", "1.0.0")
        .call(|router: &mut Router, m: Nat64AddDelStaticBib| {
            let new = Static {
                host: m.i_addr,
                port: m.i_port,
                outside: m.o_addr,
                outside_port: m.o_port,
                protocol: Protocol(m.proto),
                vrf: m.vrf_id,
            };
            Ok(requests::set_static(router, new, m.is_add)?)
        })
        .dump_some(|router, m: Nat64BibDump| {
            let row = |_: &Router, Bound { ends, is_static, sessions }: Bound| Nat64BibDetails {
                i_addr: ends.host,
                o_addr: ends.outside,
                i_port: ends.port,
                o_port: ends.outside_port,
                vrf_id: ends.vrf,
                proto: ends.protocol.0,
                flags: NatConfigFlags::NONE.with(NatConfigFlags::STATIC, is_static),
                ses_num: sessions,
            };
            slices::rows(slices::map(bindings(router, wanted(m.proto)), row))
        })
        .dump_some(|router, m: Nat64StDump| {
            let row = |router: &Router, s: show::Row| Nat64StDetails {
                il_addr: s.forward.src.into(),
                ol_addr: s.reverse.dst.into(),
                il_port: s.forward.src_port,
                ol_port: s.reverse.dst_port,
                ir_addr: s.forward.dst.into(),
                or_addr: s.reverse.src.into(),
                r_port: s.reverse.src_port,
                vrf_id: vrf_of(router, s.data.in_fib),
                proto: s.reverse.protocol().0,
            };
            slices::rows(slices::map(sessions(router, wanted(m.proto)), row))
        });
}

/// The protocols that a client asks for.
fn wanted(proto: u8) -> show::Which {
    if proto == ALL_PROTOCOLS { show::Which::All } else { show::Which::Only(Protocol(proto)) }
}

/// The number of a host's table.
pub(super) fn vrf_of(router: &Router, fib: u16) -> u32 {
    router.fib.table_id::<Ip6>(TableIndex(fib)).unwrap_or(0)
}
