//! Messages of the module `sflow`.

use net::prelude::*;

use super::{Error, Settings, set, settings, watch, watched};

/// Enable or disable sampling on an interface.
#[derive(Message)]
pub struct SflowEnableDisable {
    /// true to enable, false to disable
    pub enable_disable: bool,
    /// interface index
    pub hw_if_index: InterfaceIndex,
}

macro_rules! settings {
    ($(
        $field:ident $wire:literal $(= $preset:literal)? #[doc = $unit:literal]
        #[doc = $set_about:literal] $set:ident
        #[doc = $get_about:literal] $get:ident
        #[doc = $reply_about:literal] $reply:ident
    )*) => {$(
        #[doc = $set_about]
        #[derive(Message)]
        pub struct $set {
            #[doc = $unit]
            #[name($wire)]
            $(#[preset($preset)])?
            pub $field: u32,
        }

        #[doc = $get_about]
        #[derive(Message)]
        #[reply($reply)]
        pub struct $get {}

        #[doc = $reply_about]
        #[derive(Message)]
        #[head(details)]
        #[option("in_progress")]
        pub struct $reply {
            #[doc = $unit]
            #[name($wire)]
            pub $field: u32,
        }
    )*};
}

settings! {
    rate "sampling_N" = 10000 /// one packet of so many; 0 for none
    /// Set the sampling rate.
    SflowSamplingRateSet
    /// Get the sampling rate.
    SflowSamplingRateGet
    /// The sampling rate.
    SflowSamplingRateGetReply
    polling "polling_S" = 20 /// seconds; 0 for no reports
    /// Set the counter polling interval.
    SflowPollingIntervalSet
    /// Get the counter polling interval.
    SflowPollingIntervalGet
    /// Counter polling interval.
    SflowPollingIntervalGetReply
    header_bytes "header_B" = 128 /// bytes, at least 64 and at most 256, in steps of 32
    /// Set the number of header bytes in samples.
    SflowHeaderBytesSet
    /// Get the number of header bytes in samples.
    SflowHeaderBytesGet
    /// Number of header bytes in samples.
    SflowHeaderBytesGetReply
    direction "sampling_D" /// 1 for received packets, 2 for sent ones, 3 for both
    /// Set the direction of sampled packets.
    SflowDirectionSet
    /// Get the direction of sampled packets.
    SflowDirectionGet
    /// The direction of sampled packets.
    SflowDirectionGetReply
    drops "drop_M" /// 1 if dropped packets are reported, else 0
    /// Enable or disable reporting of dropped packets.
    SflowDropMonitoringSet
    /// Get whether dropped packets are reported.
    SflowDropMonitoringGet
    /// Whether dropped packets are reported.
    SflowDropMonitoringGetReply
}

/// List interfaces with sampling.
#[derive(Message)]
#[details(SflowInterfaceDetails)]
pub struct SflowInterfaceDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    pub hw_if_index: InterfaceIndex,
}

/// An interface with sampling.
#[derive(Message)]
pub struct SflowInterfaceDetails {
    /// interface index
    pub hw_if_index: InterfaceIndex,
}

/// Directions in a number.
const RX: u32 = 1;
const TX: u32 = 2;

impl Settings {
    /// 1 for received packets, 2 for transmitted ones, 3 for both.
    pub fn direction(&self) -> u32 {
        u32::from(self.rx) * RX + u32::from(self.tx) * TX
    }
    /// The other way round.
    ///
    /// # Errors
    /// [`Error::BadDirection`]; nothing has changed then.
    pub fn set_direction(&mut self, direction: u32) -> Result<(), Error> {
        if !(RX..=RX | TX).contains(&direction) {
            return Err(Error::BadDirection(direction));
        }
        (self.rx, self.tx) = (direction & RX != 0, direction & TX != 0);
        Ok(())
    }
}

/// Sets the direction of sampled packets.
fn set_direction(router: &mut Router, direction: u32) -> Result<(), Error> {
    let mut wanted = settings(router);
    wanted.set_direction(direction)?;
    set(router, |s| *s = wanted)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("sflow", "0.1.0")
        .call(|router: &mut Router, m: SflowEnableDisable| {
            Ok(watch(router, m.hw_if_index, m.enable_disable)?)
        })
        .call(|router, _: SflowSamplingRateGet| {
            Ok(SflowSamplingRateGetReply { rate: settings(router).rate })
        })
        .call(|router, m: SflowSamplingRateSet| Ok(set(router, |s| s.rate = m.rate)?))
        .call(|router, m: SflowPollingIntervalSet| Ok(set(router, |s| s.polling = m.polling)?))
        .call(|router, _: SflowPollingIntervalGet| {
            Ok(SflowPollingIntervalGetReply { polling: settings(router).polling })
        })
        .call(|router, m: SflowHeaderBytesSet| {
            Ok(set(router, |s| s.header_bytes = m.header_bytes)?)
        })
        .call(|router, _: SflowHeaderBytesGet| {
            Ok(SflowHeaderBytesGetReply { header_bytes: settings(router).header_bytes })
        })
        .call(|router, m: SflowDirectionSet| Ok(set_direction(router, m.direction)?))
        .call(|router, _: SflowDirectionGet| {
            Ok(SflowDirectionGetReply { direction: settings(router).direction() })
        })
        .call(|router, m: SflowDropMonitoringSet| match m.drops {
            0 | 1 => Ok(set(router, |s| s.drops = m.drops == 1)?),
            _ => Err(Retval::INVALID_VALUE),
        })
        .call(|router, _: SflowDropMonitoringGet| {
            Ok(SflowDropMonitoringGetReply { drops: settings(router).drops.into() })
        })
        .dump(|router: &mut Router, m: SflowInterfaceDump| {
            let is_meant = |i: &InterfaceIndex| m.hw_if_index.0 == u32::MAX || *i == m.hw_if_index;
            let meant = watched(router).filter(is_meant);
            meant.map(|hw_if_index| SflowInterfaceDetails { hw_if_index }).collect()
        });
}
