//! `pg-input-mac-filter`: an interface of the generator takes only the frames that a device with a
//! filter would take: to an address of its own, to groups, and to everybody.

use std::convert::Infallible;

use control::cli::{Cli, Command, Error, Print};
use graph::{Continue, Frame, Node};
use infra::rcu::SlabReader;
use net::interface::{DEVICE_INPUT, Port};
use net::{InterfaceIndex, Router};
use wire::ethernet;

use super::interface::{self, Mode};
use super::stream::Generator;

/// Drops frames to others.
#[derive(Clone)]
pub struct MacFilter {
    ports: SlabReader<Port>,
}

/// Drops of [`MacFilter`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Drop {
    /// frame to another address.
    #[name("mac mismatch")]
    Mismatch,
}

impl Node for MacFilter {
    const NAME: &'static str = "pg-input-mac-filter";
    type Next = Continue;
    type Error = Drop;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let dst = p.header::<ethernet::Header>().map(|h| h.dst).ok_or(Drop::Mismatch)?;
            let port = self.ports.read(p.rx(), epoch).ok_or(Drop::Mismatch)?;
            let is_ours = dst.is_multicast() || dst == port.mac || port.secondary.contains(&dst);
            if is_ours { Ok(Continue) } else { Err(Drop::Mismatch) }
        });
    }
}

/// Enable or disable the MAC address filter of an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("packet-generator mac-filter")]
pub(super) struct Switch {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// drop frames to other addresses
    #[alias("enable")]
    pub on: bool,
    /// accept all frames
    #[alias("disable")]
    pub off: bool,
}

impl Generator {
    /// Makes an interface of the generator drop frames to other addresses, or accept all.
    ///
    /// # Errors
    /// Its packets have no Ethernet header.
    pub fn filter(
        &mut self,
        router: &mut Router,
        index: InterfaceIndex,
        on: bool,
    ) -> Result<(), Error> {
        let Some(own) = self.own.get_mut(&index) else { return Ok(()) };
        if own.mode != Mode::Ethernet {
            return Err(Error::new("an IP interface has no MAC address to filter by"));
        }
        own.filters = on;
        let done = router.engine.set_feature(&DEVICE_INPUT, MacFilter::NAME, index.0, on);
        done.map_err(|e| Error::new(e.to_string()))
    }
}

pub(super) fn register(
    router: &mut Router,
    cli: &mut Cli<Router>,
) -> Result<(), graph::BuildError> {
    let ports = router.interfaces.ports();
    router.engine.add_feature(&DEVICE_INPUT, MacFilter { ports })?;
    cli.command(|router: &mut Router, c: Switch| {
        if c.on == c.off {
            return Err(Error::new("missing on or off"));
        }
        let index = interface::at(router, c.interface)?.index;
        super::commands::with(router, |generator, router| generator.filter(router, index, c.on))
    });
    Ok(())
}
