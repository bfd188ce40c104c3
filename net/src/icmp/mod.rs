//! ICMP (RFC 792, RFC 1812 section 4.3) and ICMPv6 (RFC 4443): input, echo, and errors.
//!
//! A node that finds something wrong with a packet puts a [`Problem`] on it and sends it to
//! `ip4-icmp-error` or `ip6-icmp-error`. Messages for this router go to the node that is registered
//! for their type with [`crate::Router::icmp4_type`] and [`crate::Router::icmp6_type`].

mod echo4;
mod echo6;
mod error;
mod error4;
mod error6;
mod input;
mod limit;
mod reason6;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use control::feature::Refused;
use graph::{Buffer, Flags};
use infra::rcu::{Epoch, Shared};
use wire::{Protocol, icmp4, icmp6};

use crate::ip::{V4, V6, Version};
use crate::router::{Configuration, Feature, Origin, Parts, Router, refuse};

pub use crate::drops::Problem;
pub use echo4::EchoRequest4;
pub use echo6::EchoRequest6;
pub use error::{ErrorSender, IcmpError};
pub use error4::Sent4;
pub use error6::Sent6;
pub use input::{IcmpInput, Messages};
pub use limit::Limit;
pub use reason6::{Count6, Error6};

/// Types there may be.
const TYPES: usize = 1 << 8;

/// Undoes what a feature changed of a packet that an error is about, if it did: on the thread with
/// this number. The current bytes start at the IP header.
pub type Restore = Arc<dyn Fn(&mut Buffer<'_>, usize, Epoch<'_>) + Send + Sync>;

/// Functions that restore packets, as the control thread publishes them.
struct Restores(Shared<Vec<Restore>>);

impl Router {
    /// Registers a function that restores packets before ICMP errors quote them, so that senders
    /// get them back as they sent them (RFC 5508 section 4).
    pub fn restore_before_errors(&mut self, restore: Restore) {
        let Some(Restores(all)) = self.state_mut::<Restores>() else { return };
        let all_now = all.current().iter().cloned().chain([restore]).collect();
        all.publish(all_now);
    }
}

/// ICMP.
pub const FEATURE: Feature = Feature {
    name: "icmp",
    about: "ICMP and ICMPv6",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::None("nothing can be set"),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let types = router.dispatch_table(V4::NODES.icmp_input, TYPES);
    router.engine.add(IcmpInput { version: V4, types }).map_err(refuse)?;
    let types = router.dispatch_table(V6::NODES.icmp_input, TYPES);
    router.engine.add(IcmpInput { version: V6, types }).map_err(refuse)?;

    router.engine.add(EchoRequest4::new(router.addresses.reader())).map_err(refuse)?;
    let addresses = router.addresses.reader();
    router.engine.add(EchoRequest6 { addresses }).map_err(refuse)?;
    let restores = Shared::new(Vec::new());
    let reader = restores.reader();
    let error = IcmpError::<V4>::new(router.addresses.reader(), reader.clone());
    router.engine.add(error).map_err(refuse)?;
    let error = IcmpError::<V6>::new(router.addresses.reader(), reader);
    router.engine.add(error).map_err(refuse)?;
    router.insert(Restores(restores));

    router.ip4_protocol(Protocol::ICMP, V4::NODES.icmp_input).map_err(refuse)?;
    router.ip6_protocol(Protocol::ICMP6, V6::NODES.icmp_input).map_err(refuse)?;
    let (echo4, echo6) = (icmp4::Type::ECHO_REQUEST, icmp6::Type::ECHO_REQUEST);
    router.icmp4_type(echo4, "ip4-icmp-echo-request").map_err(refuse)?;
    router.icmp6_type(echo6, "ip6-icmp-echo-request").map_err(refuse)
}

/// Turns the buffer of a received packet into one that this router sends: current bytes start at
/// the new IP header, and no metadata of the old packet is valid.
pub fn become_ours(p: &mut Buffer<'_>) {
    const OF_BUFFERS: Flags = Flags::CHAINED.with(Flags::TRACED);
    p.set_flags(Flags(p.flags().0 & OF_BUFFERS.0).with(Flags::LOCAL).with(Flags::L3));
    p.set_gso_size(0);
    p.set_error(0);
    let l3 = p.offset();
    p.set_l3_offset(l3);
}

/// Whether the frame of a packet was addressed to more than this router.
fn came_to_group(p: &Buffer<'_>) -> bool {
    p.flags().has(Flags::L2) && p.bytes_from(p.l2_offset()).first().is_some_and(|b| b & 1 == 1)
}
