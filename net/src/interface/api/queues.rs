//! Receive queues: when they are looked at, and by whom.

use control::api::{Api, Message, Retval};
use graph::InputState;

use super::super::queues::QueueError;
use super::super::{Interface, InterfaceIndex};
use super::find;
use super::types::RxMode;
use crate::router::Router;

/// Set the receive mode of an interface: polling, interrupt or adaptive.
#[derive(Message)]
pub struct SwInterfaceSetRxMode {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to set only one queue
    pub queue_id_valid: bool,
    /// index
    pub queue_id: u32,
    /// polling, interrupt or adaptive
    pub mode: RxMode,
}

/// Assign a receive queue to a thread.
#[derive(Message)]
pub struct SwInterfaceSetRxPlacement {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// queue index
    pub queue_id: u32,
    /// worker index, from 0
    pub worker_id: u32,
    /// assign to the main thread instead
    pub is_main: bool,
}

/// Set the default receive mode of new interfaces.
#[derive(Message)]
pub struct SwInterfaceSetDefaultRxMode {
    /// polling, interrupt or adaptive
    pub mode: RxMode,
}

/// Get the default receive mode.
#[derive(Message)]
#[reply(SwInterfaceGetDefaultRxModeReply)]
pub struct SwInterfaceGetDefaultRxMode {}

/// Default mode of the receive queues of new interfaces.
#[derive(Message)]
pub struct SwInterfaceGetDefaultRxModeReply {
    /// polling, interrupt or adaptive
    pub mode: RxMode,
}

/// List the threads of receive queues.
#[derive(Message)]
#[details(SwInterfaceRxPlacementDetails)]
pub struct SwInterfaceRxPlacementDump {
    /// interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// A receive queue.
#[derive(Message)]
#[head(request)]
pub struct SwInterfaceRxPlacementDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub queue_id: u32,
    /// thread index
    pub worker_id: u32,
    /// mode: polling, interrupt or adaptive
    pub mode: RxMode,
}

/// Set the threads that transmit on a queue.
#[derive(Message)]
pub struct SwInterfaceSetTxPlacement {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// queue index
    pub queue_id: u32,
    /// thread indexes
    #[counted(array_size: u32)]
    pub threads: Vec<u32>,
}

/// List the threads of transmit queues.
#[derive(Message)]
#[stream(SwInterfaceTxPlacementDetails, SwInterfaceTxPlacementGetReply)]
pub struct SwInterfaceTxPlacementGet {
    /// cursor from the previous reply; 0 at first
    pub cursor: u32,
    /// interface; 4294967295 for all
    pub sw_if_index: InterfaceIndex,
}

/// End of the list.
#[derive(Message)]
pub struct SwInterfaceTxPlacementGetReply {
    /// cursor for the next request
    pub cursor: u32,
}

/// A transmit queue.
#[derive(Message)]
#[head(request)]
pub struct SwInterfaceTxPlacementDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// index
    pub queue_id: u32,
    /// true if several threads use it
    pub shared: u8,
    /// thread indexes
    #[counted(array_size: u32)]
    pub threads: Vec<u32>,
}

impl From<QueueError> for Retval {
    fn from(e: QueueError) -> Self {
        match e {
            QueueError::NoQueue | QueueError::NoTxQueue => Self::UNSUPPORTED,
            QueueError::NoThread(_) | QueueError::NoTxThread(_) => Self::INVALID_VALUE,
            QueueError::Refused(_) => Self::UNSPECIFIED,
        }
    }
}

fn state_of(mode: RxMode) -> Result<InputState, Retval> {
    match mode {
        RxMode::POLLING => Ok(InputState::Polling),
        RxMode::INTERRUPT => Ok(InputState::Interrupt),
        RxMode::ADAPTIVE | RxMode::DEFAULT => Ok(InputState::Adaptive),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn mode_of(state: InputState) -> RxMode {
    match state {
        InputState::Polling => RxMode::POLLING,
        InputState::Interrupt => RxMode::INTERRUPT,
        InputState::Adaptive => RxMode::ADAPTIVE,
        InputState::Disabled => RxMode::UNKNOWN,
    }
}

/// The send queues of an interface, or of all.
fn tx_rows(router: &Router, only: InterfaceIndex) -> Vec<SwInterfaceTxPlacementDetails> {
    let is_meant = |i: &&Interface| only.0 == u32::MAX || i.index == only;
    let rows = router.interfaces.iter().filter(is_meant).flat_map(|i| {
        router.tx_queues(i.index).into_iter().map(|q| SwInterfaceTxPlacementDetails {
            sw_if_index: i.index,
            queue_id: q.number as u32,
            shared: u8::from(q.threads.len() > 1),
            threads: q.threads.iter().map(|t| *t as u32).collect(),
        })
    });
    rows.collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    sending(api);
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceSetRxMode| {
            let state = state_of(m.mode)?;
            find(router, m.sw_if_index)?;
            let queue = m.queue_id_valid.then_some(m.queue_id as usize);
            Ok(router.set_rx_mode(m.sw_if_index, queue, state)?)
        })
        .call(|router: &mut Router, m: SwInterfaceSetRxPlacement| {
            find(router, m.sw_if_index)?;
            let thread = if m.is_main { 0 } else { m.worker_id as usize + 1 };
            Ok(router.place_rx_queue(m.sw_if_index, m.queue_id as usize, thread)?)
        })
        .call(|router: &mut Router, m: SwInterfaceSetDefaultRxMode| {
            router.interfaces.default_rx_mode = state_of(m.mode)?;
            Ok(())
        })
        .call(|router: &mut Router, _: SwInterfaceGetDefaultRxMode| {
            let mode = mode_of(router.interfaces.default_rx_mode);
            Ok(SwInterfaceGetDefaultRxModeReply { mode })
        })
        .dump(|router: &mut Router, m: SwInterfaceRxPlacementDump| {
            let is_meant = |i: &&Interface| m.sw_if_index.0 == u32::MAX || i.index == m.sw_if_index;
            let chosen: Vec<_> = router.interfaces.iter().filter(is_meant).collect();
            let rows = chosen.iter().flat_map(|i| {
                let index = i.index;
                i.queues.iter().enumerate().map(move |(number, q)| SwInterfaceRxPlacementDetails {
                    sw_if_index: index,
                    queue_id: number as u32,
                    worker_id: q.thread as u32,
                    mode: mode_of(q.mode),
                })
            });
            rows.collect()
        });
}

fn sending(api: &mut Api<Router>) {
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceSetTxPlacement| {
            find(router, m.sw_if_index)?;
            let threads: Vec<_> = m.threads.iter().map(|t| *t as usize).collect();
            Ok(router.place_tx_queue(m.sw_if_index, m.queue_id as usize, &threads)?)
        })
        .stream(|router: &mut Router, m: SwInterfaceTxPlacementGet| {
            let is_there = m.sw_if_index.0 == u32::MAX || find(router, m.sw_if_index).is_ok();
            let retval = if is_there { Retval::OK } else { Retval::INVALID_SW_IF_INDEX };
            let last = SwInterfaceTxPlacementGetReply { cursor: u32::MAX };
            (tx_rows(router, m.sw_if_index), retval, last)
        });
}
