//! Messages about captures, in the module `interface`.

use control::api::{Api, Message, Retval, Text};
use net::trace::Use;
use net::{InterfaceIndex, Router, interface};

use super::start::{Asked, TRACE, start, stop};
use crate::capture::{CaptureRequest, Captures, Error};
use crate::host::background::Pending;

/// Start a capture.
#[derive(Message)]
pub struct PcapTraceOn {
    /// capture received packets
    pub capture_rx: bool,
    /// capture transmitted packets
    pub capture_tx: bool,
    /// capture dropped packets
    pub capture_drop: bool,
    /// only packets that match the capture filter; none if no filter is set
    pub filter: bool,
    /// ignored: packets are written as they are captured
    pub preallocate_data: bool,
    /// ignored: memory is always freed
    pub free_data: bool,
    /// maximum packets
    #[preset(1000)]
    pub max_packets: u32,
    /// maximum bytes per packet
    #[preset(512)]
    pub max_bytes_per_packet: u32,
    /// only this interface; 0 for all
    pub sw_if_index: InterfaceIndex,
    /// only packets dropped for this reason, <node>.<reason>; empty for all
    pub error: Text<128>,
    /// file name; relative names are below /tmp
    pub filename: Text<64>,
}

/// Stop the capture and write its file; an error if there are no packets.
#[derive(Message)]
pub struct PcapTraceOff {}

/// Select the filter function for captures.
#[derive(Message)]
pub struct PcapSetFilterFunction {
    /// function name
    pub filter_function_name: String,
}

pub(super) fn register(api: &mut Api<Router>) {
    interface::api::module(api)
        .call(|router: &mut Router, m: PcapTraceOn| {
            let is_all = [0, u32::MAX].contains(&m.sw_if_index.0);
            if !is_all {
                interface::api::find(router, m.sw_if_index)?;
            }
            if m.filename.as_str().is_empty() {
                return Err(Retval::INVALID_VALUE);
            }
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let wanted = CaptureRequest {
                rx: m.capture_rx,
                tx: m.capture_tx,
                drop: m.capture_drop,
                interfaces: (!is_all).then_some(m.sw_if_index).into_iter().collect(),
                reasons: text(m.error.as_str()).into_iter().collect(),
                most_bytes: m.max_bytes_per_packet as usize,
                ..CaptureRequest::default()
            };
            let asked = Asked {
                filter: m.filter,
                most: m.max_packets.into(),
                file: text(m.filename.as_str()),
            };
            let started =
                |all: &mut Captures, router: &mut Router| start(all, router, wanted, asked);
            Ok(router.with(started).ok_or(Retval::UNSPECIFIED)??)
        })
        .call(|router: &mut Router, m: PcapSetFilterFunction| {
            Ok(router.select_filter(&m.filter_function_name, Use::Captures)?)
        })
        .task(|router: &mut Router, _, _: PcapTraceOff| {
            let ended = router.with(|all: &mut Captures, router| stop(all, router, TRACE));
            let (_, writing) = ended.ok_or(Retval::UNSPECIFIED)??;
            Ok(Pending::new(writing, |_, written| match written.map_err(Error::from)?? {
                0 => Err(Retval::NO_SUCH_ENTRY),
                _ => Ok(()),
            }))
        });
}
