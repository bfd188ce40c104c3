//! Messages of the module `span`.

use net::prelude::*;

use super::{Directions, MirrorPoint};

control::numbers! {
    /// Direction of mirrored frames.
    pub enum SpanState: u32 = "span_state" in "" {
        DISABLED = 0 => "SPAN_STATE_API_DISABLED",
        RX = 1 => "SPAN_STATE_API_RX",
        TX = 2 => "SPAN_STATE_API_TX",
        RX_TX = 3 => "SPAN_STATE_API_RX_TX",
    }
}

impl SpanState {
    fn of(which: Directions) -> Self {
        Self(u32::from(which.rx) | u32::from(which.tx) << 1)
    }
    fn which(self) -> Result<Directions, Retval> {
        if self.0 > Self::RX_TX.0 {
            return Err(Retval::UNIMPLEMENTED);
        }
        Ok(Directions { rx: self.contains(Self::RX), tx: self.contains(Self::TX) })
    }
}

/// Enable or disable mirroring of an interface to another.
#[derive(Message)]
pub struct SwInterfaceSpanEnableDisable {
    /// mirrored interface
    pub sw_if_index_from: InterfaceIndex,
    /// destination interface; 4294967295 for all, to disable
    pub sw_if_index_to: InterfaceIndex,
    /// direction
    pub state: SpanState,
    /// true to mirror bridged and cross-connected frames, false to mirror at the device
    pub is_l2: bool,
}

/// List mirrors.
#[derive(Message)]
#[details(SwInterfaceSpanDetails)]
pub struct SwInterfaceSpanDump {
    /// true for bridged and cross-connected frames, false for the device
    pub is_l2: bool,
}

/// A mirror.
#[derive(Message)]
pub struct SwInterfaceSpanDetails {
    /// mirrored interface
    pub sw_if_index_from: InterfaceIndex,
    /// destination interface
    pub sw_if_index_to: InterfaceIndex,
    /// direction
    pub state: SpanState,
    /// bridged and cross-connected frames
    pub is_l2: bool,
}

fn at(is_l2: bool) -> MirrorPoint {
    if is_l2 { MirrorPoint::Layer2 } else { MirrorPoint::Device }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("span", "2.0.0")
        .call(|router: &mut Router, m: SwInterfaceSpanEnableDisable| {
            let which = m.state.which()?;
            let all = m.sw_if_index_to.0 == u32::MAX;
            if all && m.state != SpanState::DISABLED || m.sw_if_index_from.0 == u32::MAX {
                return Err(Retval::INVALID_INTERFACE);
            }
            let to = (!all).then_some(m.sw_if_index_to);
            Ok(super::set(router, m.sw_if_index_from, to, at(m.is_l2), which)?)
        })
        .dump(|router, m: SwInterfaceSpanDump| {
            let rows = super::all(router, at(m.is_l2)).into_iter();
            let row = |(sw_if_index_from, sw_if_index_to, which)| SwInterfaceSpanDetails {
                sw_if_index_from,
                sw_if_index_to,
                state: SpanState::of(which),
                is_l2: m.is_l2,
            };
            rows.map(row).collect()
        });
}
