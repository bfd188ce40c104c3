//! Messages of the module `mss_clamp`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval};

use super::{Clamping, Error};
use crate::interface::InterfaceIndex;
use crate::router::Router;

control::numbers! {
    /// Directions in which packets are changed.
    pub flags MssClampDir: u8 = "mss_clamp_dir" in "" {
        NONE = 0 => "MSS_CLAMP_DIR_NONE",
        RX = 1 => "MSS_CLAMP_DIR_RX",
        TX = 2 => "MSS_CLAMP_DIR_TX",
    }
}

/// Set what TCP hosts are told on an interface.
#[derive(Message)]
struct MssClampEnableDisable {
    sw_if_index: InterfaceIndex,
    ipv4_mss: u16,
    ipv6_mss: u16,
    ipv4_direction: MssClampDir,
    ipv6_direction: MssClampDir,
}

/// Ask what TCP hosts are told.
#[derive(Message)]
#[stream(MssClampDetails, MssClampGetReply)]
struct MssClampGet {
    cursor: u32,
    /// only this one; 4294967295 for all
    sw_if_index: InterfaceIndex,
}

/// The end of an answer.
#[derive(Message)]
struct MssClampGetReply {
    cursor: u32,
}

/// What TCP hosts are told on an interface.
#[derive(Message)]
struct MssClampDetails {
    sw_if_index: InterfaceIndex,
    ipv4_mss: u16,
    ipv6_mss: u16,
    ipv4_direction: MssClampDir,
    ipv6_direction: MssClampDir,
}

impl From<Error> for Retval {
    fn from(error: Error) -> Self {
        match error {
            Error::NoInterface => Self::INVALID_SW_IF_INDEX,
            Error::Zero => Self::INVALID_VALUE,
        }
    }
}

/// Rows in one piece of the answer.
const PIECE: usize = 1024;

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("mss_clamp", "1.0.0")
        .call(|router: &mut Router, m: MssClampEnableDisable| {
            let clamping = |mss, direction: MssClampDir| Clamping {
                mss,
                rx: direction.contains(MssClampDir::RX),
                tx: direction.contains(MssClampDir::TX),
            };
            let ip4 = clamping(m.ipv4_mss, m.ipv4_direction);
            let ip6 = clamping(m.ipv6_mss, m.ipv6_direction);
            Ok(router.set_mss_clamp(m.sw_if_index, [ip4, ip6])?)
        })
        .stream(|router, m: MssClampGet| {
            let last = |cursor| MssClampGetReply { cursor };
            let is_one = m.sw_if_index.0 != u32::MAX;
            if is_one && router.interfaces.at(m.sw_if_index).is_none() {
                return (Vec::new(), Retval::INVALID_SW_IF_INDEX, last(u32::MAX));
            }
            let all = router.mss_clamps().filter(|(i, _)| !is_one || *i == m.sw_if_index);
            let mut left = all.skip_while(|(i, _)| i.0 < m.cursor);
            let rows = left.by_ref().take(PIECE).map(details).collect();
            match left.next() {
                Some((next, _)) => (rows, Retval::EAGAIN, last(next.0)),
                None => (rows, Retval::OK, last(u32::MAX)),
            }
        });
}

fn details((sw_if_index, [ip4, ip6]): (InterfaceIndex, [Clamping; 2])) -> MssClampDetails {
    let direction =
        |c: Clamping| MssClampDir::NONE.with(MssClampDir::RX, c.rx).with(MssClampDir::TX, c.tx);
    MssClampDetails {
        sw_if_index,
        ipv4_mss: ip4.mss,
        ipv6_mss: ip6.mss,
        ipv4_direction: direction(ip4),
        ipv6_direction: direction(ip6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::testing::Bench;

    #[test]
    fn what_is_set_is_told() {
        let mut bench = Bench::new();
        let (pg0, pg1) = (bench.pg0, bench.pg1);
        bench.talk(|local, router| {
            let set = |sw_if_index, ipv4_mss| MssClampEnableDisable {
                sw_if_index,
                ipv4_mss,
                ipv6_mss: 1200,
                ipv4_direction: MssClampDir(3),
                ipv6_direction: MssClampDir::RX,
            };
            local.call(router, &set(pg0, 1000)).unwrap();
            local.call(router, &set(pg1, 1001)).unwrap();
            let get = |i| MssClampGet { cursor: 0, sw_if_index: InterfaceIndex(i) };
            let (rows, retval, last) = local.stream(router, &get(u32::MAX));
            let told: Vec<_> = rows.iter().map(|r| (r.sw_if_index, r.ipv4_mss)).collect();
            assert_eq!(told, [(pg0, 1000), (pg1, 1001)]);
            assert_eq!((rows[0].ipv4_direction.0, rows[0].ipv6_direction.0), (3, 1));
            assert_eq!((retval, last.cursor), (0, u32::MAX));
            assert_eq!(local.stream(router, &get(pg1.0)).0.len(), 1);
            assert_eq!(local.stream(router, &get(99)).1, Retval::INVALID_SW_IF_INDEX.0);
            let nowhere = local.call(router, &set(InterfaceIndex(99), 1)).err();
            assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
            assert_eq!(local.call(router, &set(pg0, 0)).err(), Some(Retval::INVALID_VALUE));
        });
    }
}
