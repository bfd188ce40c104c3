//! Making and deleting loopback interfaces.

use control::cli::{Cli, Command, Error, Print};
use control::configuration::Lines;
use net::{InterfaceIndex, Router};
use wire::MacAddr;

use super::interface;

/// Create a loopback interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create loopback interface", "loopback create-interface")]
#[undo("delete loopback interface intfc loop{instance}")]
#[stage(Interfaces)]
struct Create {
    /// MAC address; default de:ad:00:00:<instance>
    mac: Option<MacAddr>,
    /// instance number in the name; by default the lowest free one
    instance: Option<u32>,
}

/// Delete a loopback interface.
#[derive(Command)]
#[command("delete loopback interface", "loopback delete-interface")]
struct Delete {
    /// name
    intfc: InterfaceIndex,
}

/// Create a loopback interface with selectable link speed, for testing.
#[derive(Command)]
#[command("test link-speed")]
struct TestSpeed;

/// Speeds of such a loopback in kilobits per second.
const SPEEDS: &[u32] = &[1_000_000, 10_000_000, 25_000_000, 100_000_000];

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create).command(delete).command(|router: &mut Router, _: TestSpeed| {
        let made = interface::create(router, None, None)?;
        router.interfaces.offer_speeds(made, SPEEDS);
        router.interfaces.follow_device_speed(made, SPEEDS[0]);
        Ok::<_, Error>(router.interfaces.name(made.0).to_owned())
    });
}

fn create(router: &mut Router, c: Create) -> Result<String, Error> {
    let made = interface::create(router, c.mac, c.instance)?;
    Ok(router.interfaces.name(made.0).to_owned())
}

fn delete(router: &mut Router, c: Delete) -> Result<(), Error> {
    Ok(interface::delete(router, c.intfc)?)
}

/// The loopbacks there are.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for i in router.interfaces.iter().filter(|i| i.hardware == interface::HARDWARE && !i.is_sub()) {
        let instance = i.made.name.strip_prefix("loop").and_then(|n| n.parse().ok());
        let mac = Some(i.made.mac).filter(|mac| Some(*mac) != instance.map(interface::usual_mac));
        lines.push_at(i.index.0, &Create { mac, instance });
    }
}
