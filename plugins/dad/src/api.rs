//! Messages of the module `ip6_dad`.

use net::prelude::*;

use super::{Config, Entry, State, configure, detection};

control::numbers! {
    /// State of an address.
    pub enum Ip6DadState: u8 = "ip6_dad_state" in "" {
        IDLE = 0 => "IP6_DAD_STATE_IDLE",
        TENTATIVE = 1 => "IP6_DAD_STATE_TENTATIVE",
        PREFERRED = 2 => "IP6_DAD_STATE_PREFERRED",
        DUPLICATE = 3 => "IP6_DAD_STATE_DUPLICATE",
    }
}

/// Enable or disable duplicate address detection.
#[derive(Message)]
pub struct Ip6DadEnableDisable {
    /// true to enable, false to disable
    #[preset("true")]
    pub enable: bool,
    /// solicitations per address, 1 to 10
    #[preset(1)]
    pub dad_transmits: u8,
    /// seconds between solicitations
    #[preset(1.0)]
    pub dad_retransmit_delay: f64,
}

/// Get the configuration.
#[derive(Message)]
#[details(Ip6DadDetails)]
pub struct Ip6DadDump {}

/// Configuration.
#[derive(Message)]
pub struct Ip6DadDetails {
    /// true to enable, false to disable
    pub enabled: bool,
    /// solicitations per address
    pub dad_transmits: u8,
    /// seconds between solicitations
    pub dad_retransmit_delay: f64,
}

/// Register or unregister for duplicate address detection events.
#[derive(Message)]
#[events(Ip6DadEvent)]
pub struct WantIp6DadEvents {
    /// true to register, false to unregister
    pub enable_disable: bool,
    /// client process ID
    pub pid: u32,
}

/// An address became tentative, was solicited or completed detection.
#[derive(Debug, PartialEq, Message)]
pub struct Ip6DadEvent {
    /// state
    pub state: Ip6DadState,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// the address
    pub address: Ipv6Addr,
    /// solicitations sent
    pub dad_count: u8,
    /// total number of solicitations
    pub dad_transmits: u8,
}

/// Sends clients the state of an address.
pub(super) fn stepped(router: &mut Router, on: InterfaceIndex, address: Ipv6Addr, entry: &Entry) {
    let state = match entry.state {
        State::Tentative => Ip6DadState::TENTATIVE,
        State::Preferred => Ip6DadState::PREFERRED,
        State::Duplicate => Ip6DadState::DUPLICATE,
    };
    let dad_transmits = detection(router).config.transmits;
    router.clients.send(&Ip6DadEvent {
        state,
        sw_if_index: on,
        address,
        dad_count: entry.sent,
        dad_transmits,
    });
}

fn set(router: &mut Router, m: &Ip6DadEnableDisable) -> Result<(), Retval> {
    let now = detection(router).config;
    let new = match m.enable {
        true => Config { is_on: true, transmits: m.dad_transmits, delay: m.dad_retransmit_delay },
        false => Config { is_on: false, ..now },
    };
    Ok(configure(router, new)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip6_dad", "1.0.0")
        .call(|router, m: Ip6DadEnableDisable| set(router, &m))
        .dump(|router, _: Ip6DadDump| {
            let Config { is_on, transmits, delay } = detection(router).config;
            vec![Ip6DadDetails {
                enabled: is_on,
                dad_transmits: transmits,
                dad_retransmit_delay: delay,
            }]
        })
        .call_by(|router, caller, m: WantIp6DadEvents| {
            // As in the original, a second request of a kind changes nothing and is no error.
            let _ = router.clients.want::<Ip6DadEvent>(caller.client, m.pid, m.enable_disable);
            Ok(())
        });
}
