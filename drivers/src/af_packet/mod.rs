//! Interfaces on Linux devices, by packet sockets: `create host-interface name X` makes `host-X`.
//!
//! Packets are received through a ring of small slots that the kernel fills (TPACKET_V2: each
//! packet is available at once, and an idle ring costs reading one word). A packet longer than a
//! slot waits in the socket's queue and is read from there straight into a chain of buffers, so
//! that big packets are copied once. Packets are sent by `sendmmsg` straight from the buffers. In
//! both directions a virtio header ([`crate::virtio_header`]) has the pending checksum and
//! segmentation; nothing of that is done here.
//!
//! Measured against it with the same forwarding program, two veths on two cores: TCP with big
//! packets, processor time for a packet of 60 bytes in and out, and an idle ping.
//!
//! | receive | send | TCP, Gbit/s | 60 bytes, ns | ping, ms |
//! |---|---|---|---|---|
//! | ring and queue | `sendmmsg` | 14.6 to 15.0 | 1500 to 1600 | 0.16 |
//! | ring and queue | `sendmsg` | 14.1 to 14.4 | 2050 | 0.15 |
//! | ring and queue | transmit ring | 11.6 | 1950 to 2250 | 0.16 |
//! | `recvmmsg` into buffers | `sendmmsg` | 11.1 to 13.5 | 2850 to 3150 | 0.17 |
//! | ring of 64 KB slots | `sendmmsg` | 11.9 | | 0.22 |
//! | TPACKET_V3, blocks of 1 ms | `sendmmsg` | 9.1 to 9.8 | 1850 to 1900 | 1.0 |

pub mod api;
mod commands;
mod input;
mod interface;
mod link;
pub(crate) mod ring;
pub(crate) mod sockets;
mod tx;

use net::{Configuration, Feature, Origin, Parts, refuse};

pub use input::AfPacketInput;

/// Interfaces on Linux devices.
pub const FEATURE: Feature = Feature {
    name: "af_packet",
    about: "af-packet",
    origin: Origin::Driver,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let input = AfPacketInput::new(&router.interfaces);
    let node = router.engine.add_input(input).map_err(refuse)?;
    router.insert(interface::HostInterfaces::new(node));
    router.interfaces.observe(interface::follow);
    router.interfaces.describe(interface::HARDWARE, interface::describe);
    link::register(router);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    Ok(())
}
