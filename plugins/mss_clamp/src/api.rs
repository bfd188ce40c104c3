//! Messages of the module `mss_clamp`.

use net::prelude::*;

use super::Clamping;

control::numbers! {
    /// Directions to clamp.
    pub flags MssClampDir: u8 = "mss_clamp_dir" in "" {
        NONE = 0 => "MSS_CLAMP_DIR_NONE",
        RX = 1 => "MSS_CLAMP_DIR_RX",
        TX = 2 => "MSS_CLAMP_DIR_TX",
    }
}

/// Set the TCP MSS clamp of an interface.
#[derive(Message)]
pub struct MssClampEnableDisable {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 MSS in bytes
    pub ipv4_mss: u16,
    /// IPv6 MSS in bytes
    pub ipv6_mss: u16,
    /// IPv4 directions
    pub ipv4_direction: MssClampDir,
    /// IPv6 directions
    pub ipv6_direction: MssClampDir,
}

/// List interfaces with a TCP MSS clamp.
#[derive(Message)]
#[stream(MssClampDetails, MssClampGetReply)]
pub struct MssClampGet {
    /// cursor from the previous reply; 0 at first
    pub cursor: u32,
    /// only this one; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// End of the list.
#[derive(Message)]
pub struct MssClampGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// The TCP MSS clamp of an interface.
#[derive(Message)]
pub struct MssClampDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// IPv4 MSS in bytes
    pub ipv4_mss: u16,
    /// IPv6 MSS in bytes
    pub ipv6_mss: u16,
    /// IPv4 directions
    pub ipv4_direction: MssClampDir,
    /// IPv6 directions
    pub ipv6_direction: MssClampDir,
}

impl MssClampDir {
    fn clamping(self, mss: u16) -> Clamping {
        Clamping { mss, rx: self.contains(Self::RX), tx: self.contains(Self::TX) }
    }
    fn of(c: Clamping) -> Self {
        Self::NONE.with(Self::RX, c.rx).with(Self::TX, c.tx)
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("mss_clamp", "1.0.0")
        .call(|router: &mut Router, m: MssClampEnableDisable| {
            let ip4 = m.ipv4_direction.clamping(m.ipv4_mss);
            let ip6 = m.ipv6_direction.clamping(m.ipv6_mss);
            Ok(super::set(router, m.sw_if_index, [ip4, ip6])?)
        })
        .stream_rows(
            |m: &MssClampGet| m.cursor,
            |router, m, piece| {
                let is_one = m.sw_if_index.0 != u32::MAX;
                if is_one && router.interfaces.at(m.sw_if_index).is_none() {
                    return Err(Retval::INVALID_SW_IF_INDEX);
                }
                let mut meant = super::all(router).filter(|(i, _)| !is_one || *i == m.sw_if_index);
                meant.all(|(i, [ip4, ip6])| piece.offer(i.0, || details(i, ip4, ip6)));
                Ok(())
            },
            |cursor| MssClampGetReply { cursor },
        );
}

fn details(sw_if_index: InterfaceIndex, ip4: Clamping, ip6: Clamping) -> MssClampDetails {
    MssClampDetails {
        sw_if_index,
        ipv4_mss: ip4.mss,
        ipv6_mss: ip6.mss,
        ipv4_direction: MssClampDir::of(ip4),
        ipv6_direction: MssClampDir::of(ip6),
    }
}
