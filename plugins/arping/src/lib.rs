//! `arping`: requests to a neighbour by ARP or ND, whether known or not, or announcements; and
//! address conflict detection, the same request for an address one wants (RFC 5227
//! section 2.1.1, RFC 4862 section 5.4).
//!
//! Answers are seen by `arping-input` and `arping6-input`, features that are on for an interface as
//! long as a request is in progress there; packets then go on to the neighbour table.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod task;

use net::arp::ARP;
use net::ip6::IP6_LOCAL;
use net::prelude::*;

pub use api::{ArpingAcd, ArpingAcdReply, ArpingReply, ArpingRequest};
pub use node::{AnswersArp, AnswersNd};

/// The command, the messages and the nodes that see answers.
pub const FEATURE: Feature = Feature {
    name: "arping",
    about: "Arping (arping)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["arp", "nd"],
    register,
    configuration: Configuration::None("requests are sent once"),
};

/// The neighbour whose answers are counted.
pub type Target = (InterfaceIndex, IpAddr);

/// An `arping` in progress.
struct Progress {
    asked: Target,
    replies: u32,
    /// The neighbour that answered last.
    from: Option<MacAddr>,
}

/// All that are in progress.
struct Arpings {
    /// For the nodes.
    asked: Shared<Vec<Target>>,
    asking: HashMap<u64, Progress>,
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

/// Counts the answers of `asked` from now on; the key to [`end`].
fn begin(router: &mut Router, asked: Target) -> u64 {
    see_answers(router, asked.0, true);
    let all = router.own_mut::<Arpings>();
    all.last += 1;
    let key = all.last;
    all.asking.insert(key, Progress { asked, replies: 0, from: None });
    all.publish();
    key
}

/// No longer counts answers.
fn end(router: &mut Router, key: u64) {
    let all = router.own_mut::<Arpings>();
    let Some(gone) = all.asking.remove(&key) else { return };
    all.publish();
    let interface = gone.asked.0;
    if !all.asks_on(interface) {
        see_answers(router, interface, false);
    }
}

fn see_answers(router: &mut Router, interface: InterfaceIndex, is_on: bool) {
    for (arc, node) in [(&ARP, AnswersArp::NAME), (&IP6_LOCAL, AnswersNd::NAME)] {
        let done = router.engine.set_feature(arc, node, interface.0, is_on);
        done.expect("the node is on the arc since the feature registered");
    }
}

/// The number of commands and messages in progress.
pub fn in_progress(router: &Router) -> usize {
    router.own::<Arpings>().asking.len()
}

/// A neighbour answered a request of ours.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The interface it is on.
    pub interface: InterfaceIndex,
    /// Address.
    pub addr: IpAddr,
    /// MAC address.
    pub mac: MacAddr,
}

impl Event for Answered {}

/// Takes note of an answer that the data plane reported.
fn answered(router: &mut Router, Answered { interface, addr, mac }: Answered) {
    let asking = router.own_mut::<Arpings>().asking.values_mut();
    for asking in asking.filter(|a| a.asked == (interface, addr)) {
        asking.replies += 1;
        asking.from = Some(mac);
    }
}

/// Follows changes of interfaces: a deleted one has no answers.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    let all = router.own_mut::<Arpings>();
    if change == Change::Deleting && all.asks_on(interface) {
        all.asking.retain(|_, asking| asking.asked.0 != interface);
        all.publish();
        see_answers(router, interface, false);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
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
