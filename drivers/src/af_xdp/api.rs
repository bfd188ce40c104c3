//! Messages of the module `af_xdp`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, InterfaceReply, Router};

use super::interface::{AfXdps, Wanted};
use super::kernel::Mode;
use crate::host::background::make;

control::numbers! {
    /// Zero-copy, copy, or chosen by the kernel.
    pub enum AfXdpMode: u32 = "af_xdp_mode" in "" {
        AUTO = 0 => "AF_XDP_API_MODE_AUTO",
        COPY = 1 => "AF_XDP_API_MODE_COPY",
        ZERO_COPY = 2 => "AF_XDP_API_MODE_ZERO_COPY",
    }
    /// Further options.
    pub flags AfXdpFlag: u8 = "af_xdp_flag" in "" {
        NO_SYSCALL_LOCK = 1 => "AF_XDP_API_FLAGS_NO_SYSCALL_LOCK",
        MAC_REUSE = 2 => "AF_XDP_API_FLAGS_MAC_REUSE" later,
        MULTI_BUFFER = 4 => "AF_XDP_API_FLAGS_MULTI_BUFFER" later,
    }
}

/// Create an AF_XDP interface on a host device.
#[derive(Message)]
#[replies(InterfaceReply)]
pub struct AfXdpCreateV3 {
    /// device name
    pub host_if: Text<64>,
    /// interface name; if empty, the device name and a number
    pub name: Text<64>,
    /// device queues to use; 65535 for all
    #[preset(1)]
    pub rxq_num: u16,
    /// receive ring size; 0 for the default
    #[preset(0)]
    pub rxq_size: u16,
    /// transmit ring size; 0 for the default
    #[preset(0)]
    pub txq_size: u16,
    /// copy mode
    #[preset(0)]
    pub mode: AfXdpMode,
    /// further options
    #[preset(0)]
    pub flags: AfXdpFlag,
    /// must be empty: the router loads its own program
    pub prog: Text<256>,
    /// network namespace of the device; empty for the router's own
    pub netns: Text<64>,
}

/// Delete an interface on a host device.
#[derive(Message)]
pub struct AfXdpDelete {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

fn wanted(m: &AfXdpCreateV3) -> Result<Wanted, Retval> {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    if !m.prog.as_str().is_empty() {
        return Err(Retval::UNSUPPORTED);
    }
    let mode = match m.mode {
        AfXdpMode::AUTO => Mode::Auto,
        AfXdpMode::COPY => Mode::Copy,
        AfXdpMode::ZERO_COPY => Mode::ZeroCopy,
        _ => return Err(Retval::INVALID_VALUE),
    };
    Ok(Wanted {
        device: m.host_if.to_string(),
        name: text(&m.name),
        queues: m.rxq_num,
        rings: (m.rxq_size, m.txq_size),
        mode,
        is_multi_buffer: m.flags.contains(AfXdpFlag::MULTI_BUFFER),
        reuses_mac: m.flags.contains(AfXdpFlag::MAC_REUSE),
        namespace: text(&m.netns),
    })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("af_xdp", "1.1.0")
        .task(|router: &mut Router, _, m: AfXdpCreateV3| {
            make::<AfXdps, _, _>(router, wanted(&m)?, |_, made| {
                Ok(InterfaceReply { sw_if_index: made? })
            })
        })
        .call(|router: &mut Router, m: AfXdpDelete| {
            let gone = router.with(|all: &mut AfXdps, router| all.delete(router, m.sw_if_index));
            Ok(gone.ok_or(Retval::UNSPECIFIED)??)
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_ask_for_is_what_is_made() {
        let mut m = AfXdpCreateV3 {
            host_if: "eth1".into(),
            name: "".into(),
            rxq_num: 2,
            rxq_size: 0,
            txq_size: 512,
            mode: AfXdpMode::COPY,
            flags: AfXdpFlag(AfXdpFlag::MAC_REUSE.0 | AfXdpFlag::MULTI_BUFFER.0),
            prog: "".into(),
            netns: "red".into(),
        };
        let asked = wanted(&m).unwrap();
        assert_eq!((asked.device.as_str(), asked.name, asked.queues), ("eth1", None, 2));
        assert_eq!((asked.rings, asked.mode), ((0, 512), Mode::Copy));
        assert!(asked.reuses_mac && asked.is_multi_buffer);
        assert_eq!(asked.namespace.as_deref(), Some("red"));
        m.mode = AfXdpMode(7);
        assert_eq!(wanted(&m), Err(Retval::INVALID_VALUE));
        m.prog = "/x.o".into();
        assert_eq!(wanted(&m), Err(Retval::UNSUPPORTED));
    }
}
