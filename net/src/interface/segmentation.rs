//! `set interface feature gso` and its message. Devices always get packets they can send, with or
//! without the feature; only a test device gets big packets whole unless segments are requested
//! ([`Change::Segments`](crate::interface::Change)).

use control::api::{Api, Message};
use control::cli::{Cli, Command, Print};
use control::configuration::Lines;

use super::InterfaceIndex;
use crate::router::{Configuration, Feature, Origin, Parts, Router};

/// Cutting big packets.
pub const FEATURE: Feature = Feature {
    name: "gso",
    about: "Segmentation offload",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// Segment large packets in software before transmit, if the device cannot.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface feature gso")]
struct SetGso {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// the default for all but test devices
    #[keyword("enable")]
    _enable: bool,
    /// send large packets whole; test devices only
    disable: bool,
}

/// Segment large packets in software before transmit, if the device cannot.
#[derive(Message)]
#[option("vat_help", "<intfc> | sw_if_index <nn> [enable | disable]")]
pub struct FeatureGsoEnableDisable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// nonzero to segment; 0, for test devices, to send whole
    pub enable_disable: bool,
}

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    commands(&mut parts.cli);
    messages(&mut parts.api);
    Ok(())
}

/// Commands for the interfaces on which segmentation is enabled.
fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for i in router.interfaces.iter().filter(|i| i.asks_segments) {
        lines.push(&SetGso { interface: i.index, _enable: false, disable: false });
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetGso| {
        router.set_segments(c.interface, !c.disable);
        Ok(())
    });
}

fn messages(api: &mut Api<Router>) {
    api.core("gso", "1.0.0").call(|router: &mut Router, m: FeatureGsoEnableDisable| {
        super::api::find(router, m.sw_if_index)?;
        router.set_segments(m.sw_if_index, m.enable_disable);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use control::api::{Local, Retval};
    use control::log::Log;
    use graph::Settings;

    use super::*;

    #[test]
    fn only_the_interface_can_be_wrong() {
        let router = Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new());
        let mut parts = crate::Assembly::new(router.unwrap());
        for feature in [crate::drops::FEATURE, super::super::FEATURE, FEATURE] {
            parts.add(&feature).unwrap();
        }
        parts.api.finish(&parts.router.clients).unwrap();
        let local = Local::new(&parts.api, &parts.cli, &parts.router.clients);
        let ask =
            |n| FeatureGsoEnableDisable { sw_if_index: InterfaceIndex(n), enable_disable: true };
        assert_eq!(local.call(&mut parts.router, &ask(0)), Ok(()));
        let bad = local.call(&mut parts.router, &ask(7));
        assert_eq!(bad, Err(Retval::INVALID_SW_IF_INDEX));
        let mut run = |line: &str| parts.cli.run(&mut parts.router, line).text();
        assert_eq!(run("set interface feature gso local0 enable"), "");
        assert!(run("set interface feature gso nosuch").contains("unknown interface"));
    }
}
