//! Counters of an interface by kind of destination, where they are enabled.

use std::convert::Infallible;
use std::sync::Arc;

use control::api::Message;
use control::cli::{Args, Command, Error, Word};
use graph::{BuildError, Continue, Cpu, Frame, Node};

use crate::interface::{
    self, Change, Counters, DEVICE_INPUT, INTERFACE_OUTPUT, InterfaceIndex, Kind,
};
use crate::router::{Parts, Router};

/// `interface collect detailed-stats [INTERFACE] enable|disable`.
struct Switch {
    interface: Option<Word>,
    on: bool,
}

impl Command for Switch {
    const PATHS: &'static [&'static str] = &["interface collect detailed-stats"];
    const ABOUT: &'static str = "Count the traffic of an interface by unicast, multicast and \
        broadcast";
    const USAGE: &'static str = "[<interface>] {enable|on | disable|off}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_verb =
            |word: Option<&str>| matches!(word, Some("enable" | "on" | "disable" | "off"));
        let before = (!is_verb(args.peek())).then(|| args.value("interface")).transpose()?;
        let on = match args.word() {
            Some("enable" | "on") => true,
            Some("disable" | "off") => false,
            _ => return Err(args.error("expected enable or disable, got")),
        };
        let after = (!args.is_empty()).then(|| args.value("interface")).transpose()?;
        Ok(Self { interface: before.or(after), on })
    }
}

/// Count the traffic of an interface by unicast, multicast and broadcast.
#[derive(Message)]
pub(super) struct CollectDetailedInterfaceStats {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to enable, false to disable
    pub enable_disable: bool,
}

/// `stats-collect-rx`, `stats-collect-tx`: counts what interfaces receive or send by kind of
/// destination.
#[derive(Clone)]
struct Collect<const SENT: bool> {
    counters: Arc<Counters>,
}

impl<const SENT: bool> Node for Collect<SENT> {
    const NAME: &'static str = if SENT { "stats-collect-tx" } else { "stats-collect-rx" };
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (counters, thread) = (&self.counters, frame.thread());
        frame.each(|p| {
            let index = if SENT { p.tx() } else { p.rx() };
            counters.count_kind(SENT, thread, index, p);
            Ok(Continue)
        });
    }
}

/// On what interfaces receive.
type CollectRx = Collect<false>;
/// On what they send.
type CollectTx = Collect<true>;

pub(super) fn register(parts: &mut Parts) -> Result<(), BuildError> {
    let router = &mut *parts.router;
    let counters = router.interfaces.counters();
    router.engine.add_feature(&DEVICE_INPUT, CollectRx { counters: Arc::clone(&counters) })?;
    router.engine.add_feature(&INTERFACE_OUTPUT, CollectTx { counters })?;
    router.interfaces.observe(|router, index, change| {
        if change == Change::Deleting && router.interfaces.port(index).is_some_and(|p| p.detailed) {
            // It exists until all observers know.
            let _ = router.collect_detailed(index, false);
        }
    });
    parts.cli.command(|router, c: Switch| {
        let Some(interface) = c.interface else {
            let ethernet = router.interfaces.iter().filter(|i| i.kind == Kind::Ethernet);
            let all: Vec<_> = ethernet.map(|i| i.index).collect();
            return Ok(all.into_iter().try_for_each(|i| router.collect_detailed(i, c.on))?);
        };
        let index = crate::interface::find(router, &interface)?;
        Ok(router.collect_detailed(index, c.on)?)
    });
    interface::api::module(&mut parts.api).call(
        |router: &mut Router, m: CollectDetailedInterfaceStats| {
            Ok(router.collect_detailed(m.sw_if_index, m.enable_disable)?)
        },
    );
    Ok(())
}

impl Router {
    /// Counts packets of an interface by kind of destination (`/if/rx-unicast` and others), or
    /// stops. Packets received on a sub-interface are counted by `ethernet-input`, which identifies
    /// it.
    ///
    /// # Errors
    /// [`interface::Error::Unknown`]; [`interface::Error::Unfit`] when it is no Ethernet.
    pub fn collect_detailed(
        &mut self,
        index: InterfaceIndex,
        on: bool,
    ) -> Result<(), interface::Error> {
        let i = self.interfaces.at(index).ok_or(interface::Error::Unknown)?;
        if i.kind != Kind::Ethernet {
            return Err(interface::Error::Unfit);
        }
        if i.sub.is_none() {
            self.engine.set_feature(&DEVICE_INPUT, CollectRx::NAME, index.0, on)?;
        }
        self.engine.set_feature(&INTERFACE_OUTPUT, CollectTx::NAME, index.0, on)?;
        self.interfaces.change_port(index, |port| port.detailed = on);
        Ok(())
    }
}
