//! `arping`: asks a neighbour by ARP or ND, whether known or not, or announces an address; and
//! address conflict detection, which is the same question about an address one wants (RFC 5227
//! section 2.1.1, RFC 4862 section 5.4).
//!
//! Answers are seen by `arping-input` and `arping6-input`, features that are on an interface as
//! long as somebody asks there; they go on to who learns from them.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod task;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;

use control::feature::Refused;
use graph::Node;
use infra::rcu::Shared;
use wire::MacAddr;

use crate::arp::ARP;
use crate::events::Event;
use crate::interface::{Change, InterfaceIndex};
use crate::ip6::IP6_LOCAL;
use crate::router::{Feature, Origin, Parts, Router, refuse};

pub use node::{AnswersArp, AnswersNd};

/// The command, the messages and the nodes that see answers.
pub const FEATURE: Feature = Feature {
    name: "arping",
    about: "Arping (arping)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["arp", "nd"],
    register,
};

/// Whose answers are counted.
pub type Asked = (InterfaceIndex, IpAddr);

/// Somebody who asks.
struct Asking {
    asked: Asked,
    replies: u32,
    /// Who answered last.
    from: Option<MacAddr>,
}

/// Everybody who asks.
struct Arpings {
    /// For the nodes.
    asked: Shared<Vec<Asked>>,
    asking: HashMap<u64, Asking>,
    last: u64,
}

impl Arpings {
    fn publish(&mut self) {
        self.asked.publish(self.asking.values().map(|a| a.asked).collect());
    }
    fn asks_on(&self, interface: InterfaceIndex) -> bool {
        self.asking.values().any(|a| a.asked.0 == interface)
    }
}

impl Router {
    /// Counts the answers of `asked` from now on; the key to [`Router::end_arping`].
    fn begin_arping(&mut self, asked: Asked) -> u64 {
        self.see_answers(asked.0, true);
        let all = self.arpings();
        all.last += 1;
        let key = all.last;
        all.asking.insert(key, Asking { asked, replies: 0, from: None });
        all.publish();
        key
    }
    /// No longer counts answers.
    fn end_arping(&mut self, key: u64) {
        let all = self.arpings();
        let Some(gone) = all.asking.remove(&key) else { return };
        all.publish();
        let interface = gone.asked.0;
        if !all.asks_on(interface) {
            self.see_answers(interface, false);
        }
    }
    fn see_answers(&mut self, interface: InterfaceIndex, is_on: bool) {
        for (arc, node) in [(&ARP, AnswersArp::NAME), (&IP6_LOCAL, AnswersNd::NAME)] {
            let done = self.engine.set_feature(arc, node, interface.0, is_on);
            done.expect("the node is on the arc since the feature registered");
        }
    }
    fn arpings(&mut self) -> &mut Arpings {
        self.own_mut()
    }
}

/// A neighbour answered a request of ours.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The interface it is on.
    pub interface: InterfaceIndex,
    /// The neighbour.
    pub addr: IpAddr,
    /// Its address of layer 2.
    pub mac: MacAddr,
}

impl Event for Answered {}

/// Takes note of an answer that the data plane reported.
fn answered(router: &mut Router, Answered { interface, addr, mac }: Answered) {
    let Some(all) = router.state_mut::<Arpings>() else { return };
    for asking in all.asking.values_mut().filter(|a| a.asked == (interface, addr)) {
        asking.replies += 1;
        asking.from = Some(mac);
    }
}

/// Follows changes of interfaces: nobody answers on one that is gone.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if matches!(change, Change::Deleting) && router.arpings().asks_on(interface) {
        let all = router.arpings();
        all.asking.retain(|_, asking| asking.asked.0 != interface);
        all.publish();
        router.see_answers(interface, false);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    let asked = Shared::new(Vec::new());
    let arp = AnswersArp { asked: asked.reader(), events: router.events.sender() };
    let nd = AnswersNd { asked: asked.reader(), events: router.events.sender() };
    router.engine.add_feature(&ARP, arp).map_err(refuse)?;
    router.engine.add_feature(&IP6_LOCAL, nd).map_err(refuse)?;
    router.insert(Arpings { asked, asking: HashMap::new(), last: 0 });
    router.events.handle(answered);
    router.interfaces.observe(follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
