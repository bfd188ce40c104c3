//! Speeds of links: the device's own, and those to choose from.

use std::fmt;

use control::cli::{Cli, Command, Output};
use serde::Serialize;

use super::{Error, InterfaceIndex, Interfaces};
use crate::router::Router;

/// Set the link speed, if the device has several.
#[derive(Command)]
#[command("set interface link-speed")]
struct SetSpeed {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// kilobits per second
    #[positional]
    kbps: u32,
}

/// Show the link speeds of devices.
#[derive(Command)]
#[command("show interface link-speed-capa")]
struct ShowSpeeds {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Speeds of a link to choose from, in kilobits per second.
#[derive(Serialize)]
struct Speeds {
    interface: String,
    speeds: &'static [u32],
}

impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.speeds.is_empty() {
            let none = "no speed capabilities reported for";
            return writeln!(f, "{none} {0} ({0}: no link speed capabilities)", self.interface);
        }
        write!(f, "{}:", self.interface)?;
        self.speeds.iter().try_for_each(|kbps| write!(f, " {kbps}"))?;
        writeln!(f, " kbps")
    }
}

impl Interfaces {
    /// Offers speeds of a link to choose from, in kilobits per second. Devices of the kernel, of
    /// other programs and of the router itself have the speed that they have.
    pub fn offer_speeds(&mut self, index: InterfaceIndex, speeds: &'static [u32]) {
        let Some(i) = self.at_mut(index) else { return };
        i.speeds = speeds;
    }
    /// Speeds of a link to choose from: that of its parent for a sub-interface.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn speeds(&self, index: InterfaceIndex) -> Result<&'static [u32], Error> {
        let sup = self.at(index).ok_or(Error::Unknown)?.sup;
        self.at(sup).map(|i| i.speeds).ok_or(Error::Unknown)
    }
    /// Chooses one of them.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::FixedSpeed`], [`Error::NoSpeed`].
    pub fn choose_speed(&mut self, index: InterfaceIndex, kbps: u32) -> Result<(), Error> {
        let speeds = self.speeds(index)?;
        if speeds.is_empty() {
            return Err(Error::FixedSpeed);
        }
        if !speeds.contains(&kbps) {
            return Err(Error::NoSpeed(kbps));
        }
        let sup = self.at(index).ok_or(Error::Unknown)?.sup;
        self.follow_device_speed(sup, kbps);
        Ok(())
    }
    /// Follows the speed of a device's link, in kilobits per second; 0 when unknown.
    pub fn follow_device_speed(&mut self, index: InterfaceIndex, kbps: u32) {
        let Some(i) = self.at_mut(index) else { return };
        i.link_speed = kbps;
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetSpeed| {
        Ok(router.interfaces.choose_speed(c.interface, c.kbps)?)
    });
    cli.command(|router: &mut Router, c: ShowSpeeds| {
        let speeds = router.interfaces.speeds(c.interface)?;
        let interface = router.interfaces.name(c.interface.0).to_owned();
        Ok(Output::of(Speeds { interface, speeds }))
    });
}
