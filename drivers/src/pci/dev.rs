//! Messages of the module `dev`.

use control::api::{Api, Message, Retval, Text};
use net::Router;

use super::commands;

/// Value for no number.
const NONE: u32 = u32::MAX;

control::numbers! {
    /// Device options.
    pub flags DevFlags: u32 = "dev_flags" in "" {
        NO_STATS = 1 => "VL_API_DEV_FLAG_NO_STATS",
    }
    /// Port options.
    pub flags DevPortFlags: u32 = "dev_port_flags" in "" {
        INTERRUPT_MODE = 1 => "VL_API_DEV_PORT_FLAG_INTERRUPT_MODE",
        CONSISTENT_QP = 2 => "VL_API_DEV_PORT_FLAG_CONSISTENT_QP",
    }
}

/// Attach a driver to a device.
#[derive(Message)]
#[reply(DevAttachReply)]
pub struct DevAttach {
    /// bus and address of the device
    pub device_id: Text<48>,
    /// driver; if empty, chosen by the device
    pub driver_name: Text<16>,
    /// flags
    pub flags: DevFlags,
    /// driver arguments
    pub args: String,
}

/// Reply: the device index, or the error.
#[derive(Message)]
#[head(details)]
pub struct DevAttachReply {
    /// index
    pub dev_index: u32,
    /// 0 for success
    pub retval: i32,
    /// error text
    pub error_string: String,
}

/// Detach the driver from a device.
#[derive(Message)]
#[reply(DevDetachReply)]
pub struct DevDetach {
    /// index
    pub dev_index: u32,
}

/// Reply: success, or the error.
#[derive(Message)]
pub struct DevDetachReply {
    /// error text
    pub error_string: String,
}

/// Create an interface on a device port.
#[derive(Message)]
#[reply(DevCreatePortIfReply)]
pub struct DevCreatePortIf {
    /// device index
    pub dev_index: u32,
    /// interface name
    pub intf_name: Text<32>,
    /// number of receive queues
    pub num_rx_queues: u16,
    /// number of transmit queues
    pub num_tx_queues: u16,
    /// receive ring size
    pub rx_queue_size: u16,
    /// transmit ring size
    pub tx_queue_size: u16,
    /// port
    pub port_id: u16,
    /// flags
    pub flags: DevPortFlags,
    /// driver arguments
    pub args: String,
}

/// Reply: the interface index, or the error.
#[derive(Message)]
#[head(request)]
pub struct DevCreatePortIfReply {
    /// interface index
    pub sw_if_index: u32,
    /// 0 for success
    pub retval: i32,
    /// error text
    pub error_string: String,
}

/// Delete a device port's interface.
#[derive(Message)]
#[reply(DevRemovePortIfReply)]
pub struct DevRemovePortIf {
    /// interface index
    pub sw_if_index: u32,
}

/// Reply: success, or the error.
#[derive(Message)]
pub struct DevRemovePortIfReply {
    /// error text
    pub error_string: String,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("dev", "0.0.1")
        .call(|_: &mut Router, m: DevAttach| {
            let error_string = commands::refusal(&m.device_id);
            Ok(DevAttachReply { dev_index: NONE, retval: Retval::UNSUPPORTED.0, error_string })
        })
        .call(|_: &mut Router, _: DevDetach| Err::<DevDetachReply, _>(Retval::NO_SUCH_ENTRY))
        .call(|_: &mut Router, m: DevCreatePortIf| {
            let error_string = format!("no device {} is attached", m.dev_index);
            let retval = Retval::NO_SUCH_ENTRY.0;
            Ok(DevCreatePortIfReply { sw_if_index: NONE, retval, error_string })
        })
        .call(|_: &mut Router, _: DevRemovePortIf| {
            Err::<DevRemovePortIfReply, _>(Retval::INVALID_SW_IF_INDEX)
        });
}
