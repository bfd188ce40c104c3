//! Messages of the module `dev`.

use control::api::{Api, Message, Retval, Text};
use net::Router;

use super::commands;

/// Value for no number.
const NONE: u32 = u32::MAX;

control::numbers! {
    /// Options of a device.
    pub flags DevFlags: u32 = "dev_flags" in "" {
        NO_STATS = 1 => "VL_API_DEV_FLAG_NO_STATS",
    }
    /// Options of a port.
    pub flags DevPortFlags: u32 = "dev_port_flags" in "" {
        INTERRUPT_MODE = 1 => "VL_API_DEV_PORT_FLAG_INTERRUPT_MODE",
        CONSISTENT_QP = 2 => "VL_API_DEV_PORT_FLAG_CONSISTENT_QP",
    }
}

/// Drive a device.
#[derive(Message)]
#[reply(DevAttachReply)]
pub struct DevAttach {
    /// its bus and its address there
    pub device_id: Text<48>,
    /// the driver; chosen by the device if empty
    pub driver_name: Text<16>,
    /// how
    pub flags: DevFlags,
    /// for the driver
    pub args: String,
}

/// It is driven, or why it is not.
#[derive(Message)]
#[head(details)]
pub struct DevAttachReply {
    /// its number
    pub dev_index: u32,
    /// 0 if it is
    pub retval: i32,
    /// why it is not
    pub error_string: String,
}

/// No longer drive a device.
#[derive(Message)]
#[reply(DevDetachReply)]
pub struct DevDetach {
    /// its number
    pub dev_index: u32,
}

/// It is not, or why it is.
#[derive(Message)]
pub struct DevDetachReply {
    /// why it is
    pub error_string: String,
}

/// Make an interface of a port of a device.
#[derive(Message)]
#[reply(DevCreatePortIfReply)]
pub struct DevCreatePortIf {
    /// number of the device
    pub dev_index: u32,
    /// name of the interface
    pub intf_name: Text<32>,
    /// queues that receive
    pub num_rx_queues: u16,
    /// queues that send
    pub num_tx_queues: u16,
    /// packets that may wait on the way to the router
    pub rx_queue_size: u16,
    /// packets that may wait on the way to the device
    pub tx_queue_size: u16,
    /// the port
    pub port_id: u16,
    /// how
    pub flags: DevPortFlags,
    /// for the driver
    pub args: String,
}

/// It is made, or why it is not.
#[derive(Message)]
#[head(request)]
pub struct DevCreatePortIfReply {
    /// its number
    pub sw_if_index: u32,
    /// 0 if it is
    pub retval: i32,
    /// why it is not
    pub error_string: String,
}

/// Delete an interface of a port.
#[derive(Message)]
#[reply(DevRemovePortIfReply)]
pub struct DevRemovePortIf {
    /// its number
    pub sw_if_index: u32,
}

/// It is deleted, or why it is not.
#[derive(Message)]
pub struct DevRemovePortIfReply {
    /// why it is not
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
