//! Messages of the module `ip6_dad`.

use std::net::Ipv6Addr;

use control::api::{Api, Message, Retval};

use super::{Config, Entry, OutOfBounds, State};
use crate::interface::InterfaceIndex;
use crate::router::Router;

control::numbers! {
    /// What is known of an address.
    pub enum Ip6DadState: u8 = "ip6_dad_state" in "" {
        IDLE = 0 => "IP6_DAD_STATE_IDLE",
        TENTATIVE = 1 => "IP6_DAD_STATE_TENTATIVE",
        PREFERRED = 2 => "IP6_DAD_STATE_PREFERRED",
        DUPLICATE = 3 => "IP6_DAD_STATE_DUPLICATE",
    }
}

/// Ask whether somebody else has an address before it is used, or no longer.
#[derive(Message)]
struct Ip6DadEnableDisable {
    #[preset("true")]
    enable: bool,
    /// questions about an address, 1 to 10
    #[preset(1)]
    dad_transmits: u8,
    /// seconds between two
    #[preset(1.0)]
    dad_retransmit_delay: f64,
}

/// Show how it is asked.
#[derive(Message)]
#[details(Ip6DadDetails)]
struct Ip6DadDump {}

/// How it is asked.
#[derive(Message)]
struct Ip6DadDetails {
    enabled: bool,
    dad_transmits: u8,
    dad_retransmit_delay: f64,
}

/// Register for the steps of addresses that are asked for.
#[derive(Message)]
#[events(Ip6DadEvent)]
struct WantIp6DadEvents {
    enable_disable: bool,
    pid: u32,
}

/// An address is tentative, was asked for, or is known to be ours or not.
#[derive(Debug, PartialEq, Message)]
struct Ip6DadEvent {
    state: Ip6DadState,
    sw_if_index: InterfaceIndex,
    address: Ipv6Addr,
    /// questions sent
    dad_count: u8,
    dad_transmits: u8,
}

impl From<OutOfBounds> for Retval {
    fn from(_: OutOfBounds) -> Self {
        Self::INVALID_VALUE
    }
}

/// Tells clients of a step of an address.
pub(super) fn stepped(router: &mut Router, on: InterfaceIndex, address: Ipv6Addr, entry: &Entry) {
    let state = match entry.state {
        State::Tentative => Ip6DadState::TENTATIVE,
        State::Preferred => Ip6DadState::PREFERRED,
        State::Duplicate => Ip6DadState::DUPLICATE,
    };
    let dad_transmits = router.dad().config.transmits;
    router.clients.send(&Ip6DadEvent {
        state,
        sw_if_index: on,
        address,
        dad_count: entry.sent,
        dad_transmits,
    });
}

fn set(router: &mut Router, m: &Ip6DadEnableDisable) -> Result<(), Retval> {
    let now = router.dad().config;
    let new = match m.enable {
        true => Config { is_on: true, transmits: m.dad_transmits, delay: m.dad_retransmit_delay },
        false => Config { is_on: false, ..now },
    };
    Ok(router.configure_dad(new)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip6_dad", "1.0.0")
        .call(|router, m: Ip6DadEnableDisable| set(router, &m))
        .dump(|router, _: Ip6DadDump| {
            let Config { is_on, transmits, delay } = router.dad().config;
            vec![Ip6DadDetails {
                enabled: is_on,
                dad_transmits: transmits,
                dad_retransmit_delay: delay,
            }]
        })
        .call_by(|router, caller, m: WantIp6DadEvents| {
            router.clients.want::<Ip6DadEvent>(caller.client, m.pid, m.enable_disable)
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nd::Duplicate;
    use crate::neighbor::testing::Bench;

    #[test]
    fn clients_configure_it_and_hear_the_outcome() {
        Bench::new().talk(|local, router| {
            let set = |transmits, delay| Ip6DadEnableDisable {
                enable: true,
                dad_transmits: transmits,
                dad_retransmit_delay: delay,
            };
            local.call(router, &set(3, 0.5)).unwrap();
            for bad in [set(0, 1.0), set(11, 1.0), set(1, 0.0), set(1, f64::NAN)] {
                assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
            }
            let rows = local.dump(router, &Ip6DadDump {});
            let row = (rows[0].enabled, rows[0].dad_transmits, rows[0].dad_retransmit_delay);
            assert_eq!(row, (true, 3, 0.5));
            local.call(router, &WantIp6DadEvents { enable_disable: true, pid: 7 }).unwrap();
            let pg0 = router.interfaces.named("pg0").unwrap().index;
            router.add_address(pg0, "2001:db8:5::1/64".parse().unwrap()).unwrap();
            let two = router.clients.take(local.index()).bytes.len();
            super::super::duplicate(
                router,
                Duplicate { interface: pg0, addr: "2001:db8:5::1".parse().unwrap() },
            );
            let one = router.clients.take(local.index()).bytes.len();
            assert!(one > 0 && two == 2 * one, "tentative, asked for, and a duplicate");
            let off = Ip6DadEnableDisable { enable: false, ..set(0, 0.0) };
            local.call(router, &off).unwrap();
            assert!(!local.dump(router, &Ip6DadDump {})[0].enabled);
        });
    }
}
