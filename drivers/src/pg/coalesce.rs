//! Joining what interfaces of the generator send ([`crate::gro`]).

use control::cli::{Cli, Command, Error};
use graph::NodeIndex;
use net::{InterfaceIndex, Router};

use super::interface;
use super::stream::Generator;
use super::tx::PgTx;

/// Enable or disable TCP segment coalescing on transmit.
#[derive(Command)]
#[command("packet-generator coalesce")]
struct Coalesce {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// join segments
    on: bool,
    /// send segments unchanged
    off: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Coalesce| {
        if c.on == c.off {
            return Err(Error::new("missing on or off"));
        }
        let index = interface::at(router, c.interface)?.index;
        super::commands::with(router, |generator, router| {
            generator.coalesce(router, index, c.on);
            Ok(())
        })
    });
}

impl Generator {
    /// Enables or disables coalescing of TCP segments that an interface of the generator sends.
    pub fn coalesce(&mut self, router: &mut Router, index: InterfaceIndex, on: bool) {
        let tx = router.interfaces.at(index).map(|i| i.tx);
        if let (Some(own), Some(tx)) = (self.own.get_mut(&index), tx) {
            own.coalesces = on;
            hand_out(router, tx, on);
        }
    }
    /// The data-plane threads change: the new ones join what the others did.
    pub fn coalesce_on_all(&self, router: &mut Router) {
        for (index, own) in &self.own {
            if let Some(tx) = router.interfaces.at(*index).map(|i| i.tx) {
                hand_out(router, tx, own.coalesces);
            }
        }
    }
}

fn hand_out(router: &mut Router, tx: NodeIndex, on: bool) {
    for thread in router.engine.data_threads() {
        router.engine.visit(thread, tx, move |n: &mut PgTx, frame| n.coalesce(frame, on));
    }
}
