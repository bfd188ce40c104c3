//! Devices that pass by their MAC address: always, never, or at certain times of the week, with as
//! much data as they may have.
//!
//! A device is the source of what an interface receives and the destination of what it sends.
//! Others pass. Nodes know no time: control says once a second what holds for each device.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod device;
mod node;
pub mod week;

use net::interface::{DEVICE_INPUT, INTERFACE_OUTPUT};
use net::prelude::*;

pub use api::*;
pub use device::{Device, MOST_DEVICES, Rule, Terms, put, remove};

/// Devices by MAC address and time.
pub const FEATURE: Feature = Feature {
    name: "mactime",
    about: "Time-based MAC Source Address Filter",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that looks at the time.
const PROCESS: &str = "mactime-process";
/// Time between its rounds while some device has a range.
const ROUND: Duration = Duration::from_secs(1);

/// Whether an interface looks at devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Watched(bool);

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such device
    #[retval(NO_SUCH_ENTRY)]
    NoDevice,
    /// a device is either allowed or dropped
    #[retval(INVALID_VALUE)]
    NoAction,
    /// ranges are 0 to 604800 seconds of the week
    #[retval(INVALID_VALUE)]
    BadRange,
    /// a device has at most 64 ranges
    #[retval(LIMIT_EXCEEDED)]
    TooManyRanges,
    /// a quota requires allowed ranges
    #[retval(INVALID_VALUE)]
    BadQuota,
    /// a name has 1 to 63 printable characters without blanks
    #[retval(INVALID_VALUE)]
    BadName,
    /// a device needs a unicast MAC address
    #[retval(INVALID_VALUE)]
    BadAddress,
    /// device limit reached
    #[retval(LIMIT_EXCEEDED)]
    TooManyDevices,
}

/// Enables or disables device filtering on an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn watch(router: &mut Router, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
    Ok(router.put(interface, Watched(on))?)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let hours: f64 = parts.startup("mactime", "timezone_offset")?.unwrap_or(0.0);
    if !(-24.0..=24.0).contains(&hours) {
        return Err(Refused(format!(
            "mactime: timezone_offset must be -24 to 24 hours, not \
            {hours}"
        )));
    }
    let router = &mut *parts.router;
    router.attach::<Watched>().map_err(refuse)?;
    let table = Shared::new(device::Table::default());
    let counters = device::Counters {
        allowed: router.stats.combined("/mactime/allowed", device::COLUMNS).map_err(refuse)?,
        dropped: router.stats.combined("/mactime/dropped", device::COLUMNS).map_err(refuse)?,
    };
    node::add(router, &table, &counters).map_err(refuse)?;
    router.insert(device::Devices::new(table, counters, hours));
    let [input, output] = node::NAMES;
    router.attach_at::<Watched, _>([
        AttachedAt { arc: &DEVICE_INPUT, node: input, is_on: |w| w.0 },
        AttachedAt { arc: &INTERFACE_OUTPUT, node: output, is_on: |w| w.0 },
    ]);
    let body = |router: &mut Router, _| match device::judge(router) {
        true => Wake::AfterOrEvent(ROUND),
        false => Wake::OnEvent,
    };
    router.processes.spawn(PROCESS, Box::new(body));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
