//! Answers to the messages of the module `det44`.

use net::prelude::*;
use sessions::slices::{self, Slices};
use translation::session::{ICMP, NatSession, Timeouts, UDP};

use crate::map::Map;
use crate::messages::*;
use crate::state::{self, Error, Role, Side, settings};

/// The number of what has passed of a session.
fn state_of(s: &NatSession) -> u8 {
    match s.class() {
        UDP => 1,
        ICMP => 9,
        _ if s.data.tcp.is_closed() => 8,
        _ => 2 + u8::from(s.data.tcp.is_established()),
    }
}

fn set_map(
    router: &mut Router,
    [inside, outside]: [(Ipv4Addr, u8); 2],
    is_add: bool,
) -> Result<(), Error> {
    let prefix = |(addr, len)| Ip4Prefix::new(addr, len).map_err(|_| Error::BadPrefix);
    state::set_map(router, prefix(inside)?, prefix(outside)?, is_add)
}

/// All maps with the number of their open sessions, gathered in slices.
pub(super) fn maps(router: &Router) -> Slices<(Map, u32)> {
    let Ok(settings) = settings(router) else { return slices::nothing() };
    let maps = settings.maps.clone();
    let mut counts = HashMap::<Ip4Prefix, u32>::new();
    let mut open = state::slices(router, |s| !s.data.tcp.is_closed());
    let mut is_done = false;
    Box::new(move |router| {
        if is_done {
            return Ok(None);
        }
        let Some(found) = open(router)? else {
            is_done = true;
            let count = |map: &Map| counts.get(&map.inside).copied().unwrap_or(0);
            return Ok(Some(maps.iter().map(|map| (*map, count(map))).collect()));
        };
        for map in found.iter().filter_map(|(s, _)| maps.of_host(s.forward.src.into())) {
            *counts.entry(map.inside).or_default() += 1;
        }
        Ok(Some(Vec::new()))
    })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("det44", "1.0.0")
        .call(|router: &mut Router, m: Det44PluginEnableDisable| {
            Ok(match m.enable {
                true => state::enable(router, m.inside_vrf, m.outside_vrf),
                false => state::disable(router),
            }?)
        })
        .call(|router, m: Det44InterfaceAddDelFeature| {
            let side = if m.is_inside { Side::Inside } else { Side::Outside };
            Ok(state::set_side(router, m.sw_if_index, side, m.is_add)?)
        })
        .dump(|router, _: Det44InterfaceDump| {
            let row = |(sw_if_index, role): (InterfaceIndex, &Role)| Det44InterfaceDetails {
                is_inside: role.side == Side::Inside,
                is_outside: role.side == Side::Outside,
                sw_if_index,
            };
            router.settings::<Role>().map(row).collect()
        })
        .call(|router, m: Det44SetTimeouts| {
            let (established, transitory) = (m.tcp_established, m.tcp_transitory);
            let new = Timeouts { udp: m.udp, established, transitory, icmp: m.icmp };
            Ok(state::set_timeouts(router, new)?)
        })
        .call(|router, _: Det44GetTimeouts| {
            let Timeouts { udp, established, transitory, icmp } = settings(router)?.timeouts;
            let (tcp_established, tcp_transitory) = (established, transitory);
            Ok(Det44GetTimeoutsReply { udp, tcp_established, tcp_transitory, icmp })
        });
    register_maps(api);
    register_old(api);
}

/// Answers to the messages that have two names.
macro_rules! answers {
    (
        $register:ident, $set:ident,
        $forward:ident -> $forward_reply:ident,
        $reverse:ident -> $reverse_reply:ident,
        $maps:ident -> $map:ident,
        $close_out:ident, $close_in:ident,
        $sessions:ident -> $session:ident
    ) => {
        fn $register(api: &mut Api<Router>) {
            api.plugin("det44", "1.0.0")
                .call(|router: &mut Router, m: $set| {
                    let nets = [(m.in_addr, m.in_plen), (m.out_addr, m.out_plen)];
                    Ok(set_map(router, nets, m.is_add)?)
                })
                .call(|router, m: $forward| {
                    let map = state::map_of(router, m.in_addr)?;
                    let has = map.forward(m.in_addr).ok_or(Error::NoMapFor(m.in_addr))?;
                    let (out_addr, ports) = has;
                    let (out_port_lo, out_port_hi) = ports.into_inner();
                    Ok($forward_reply { out_port_lo, out_port_hi, out_addr })
                })
                .call(|router, m: $reverse| {
                    let in_addr = state::host_of(router, m.out_addr, m.out_port)?;
                    Ok($reverse_reply { in_addr })
                })
                .dump_some(|router, _: $maps| {
                    let details = |_: &Router, (map, ses_num): (Map, u32)| $map {
                        in_addr: map.inside.addr(),
                        in_plen: map.inside.prefix_len(),
                        out_addr: map.outside.addr(),
                        out_plen: map.outside.prefix_len(),
                        sharing_ratio: map.sharing_ratio(),
                        ports_per_host: map.ports_per_host(),
                        ses_num,
                    };
                    slices::rows(slices::map(maps(router), details))
                })
                .task(|router, _, m: $close_out| {
                    let (near, far) = ((m.out_addr, m.out_port), (m.ext_addr, m.ext_port));
                    Ok(state::close(router, near, far, true, |done| Ok(done?))?)
                })
                .task(|router, _, m: $close_in| {
                    let (near, far) = ((m.in_addr, m.in_port), (m.ext_addr, m.ext_port));
                    Ok(state::close(router, near, far, false, |done| Ok(done?))?)
                })
                .dump_some(|router, m: $sessions| {
                    let host = m.user_addr.octets();
                    let all = state::slices(router, move |s| s.forward.src == host);
                    let row = |_: &Router, (s, timeouts): (NatSession, Timeouts)| $session {
                        in_port: s.forward.src_port,
                        ext_addr: s.reverse.src.into(),
                        ext_port: s.reverse.src_port,
                        out_port: s.reverse.dst_port,
                        state: state_of(&s),
                        expire: (s.heard() + f64::from(timeouts.of(&s))) as u32,
                    };
                    slices::rows(slices::map(all, row))
                });
        }
    };
}

answers!(
    register_maps,
    Det44AddDelMap,
    Det44Forward -> Det44ForwardReply,
    Det44Reverse -> Det44ReverseReply,
    Det44MapDump -> Det44MapDetails,
    Det44CloseSessionOut, Det44CloseSessionIn,
    Det44SessionDump -> Det44SessionDetails
);
answers!(
    register_old,
    NatDetAddDelMap,
    NatDetForward -> NatDetForwardReply,
    NatDetReverse -> NatDetReverseReply,
    NatDetMapDump -> NatDetMapDetails,
    NatDetCloseSessionOut, NatDetCloseSessionIn,
    NatDetSessionDump -> NatDetSessionDetails
);
