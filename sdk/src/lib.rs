//! The SDK of plugins in shared objects. `docs/plugins.md` is the guide.
//!
//! ```ignore
//! use ferrovia_sdk::prelude::*;
//!
//! ferrovia_sdk::plugin! {
//!     name: "pass", version: "1.0.0", about: "Lets everything pass", requires: "ip4", start: start
//! }
//!
//! fn start(router: &mut Router<'_>) -> Result<(), Error> {
//!     router.node("pass-ip4", Pass, &[Place::before("ip4-unicast", "ip4-lookup")])
//! }
//! ```

pub mod abi;
pub mod raw;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub use raw::{Configuration, Counters, Frame, Metadata, Packet, Router};

/// Names that most plugins need.
pub mod prelude {
    pub use crate::{
        Bytes, Change, Command, Counters, Error, Fields, Frame, Message, Metadata, NewInterface,
        Node, Packet, PerInterface, Place, Router, Stage, Verdict, retval,
    };
}

/// Error numbers of the binary API.
pub mod retval {
    /// There is no interface of this number.
    pub const INVALID_SW_IF_INDEX: i32 = -2;
    /// There is no such entry.
    pub const NO_SUCH_ENTRY: i32 = -6;
    /// A value is refused.
    pub const INVALID_VALUE: i32 = -7;
}

/// Flag of a traced packet.
const TRACED: u32 = 1 << 1;
/// The retval of a message whose function panicked.
const UNSPECIFIED: i32 = -1;

/// The reason why something cannot be done, in words; empty where the router has said it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Error(pub String);

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A step of the packet graph, one for all threads.
pub trait Node: Send + Sync + 'static {
    /// State of each thread.
    type Local: Default + Send;
    /// Reasons for drops: name in the statistics and text.
    const REASONS: &'static [(&'static str, &'static str)] = &[];
    /// Its further counters.
    const COUNTS: &'static [(&'static str, &'static str)] = &[];
    /// The nodes it sends to.
    const NEXT: &'static [&'static str] = &[];
    /// The node that gets what it drops.
    const DROP: &'static str = "error-drop";

    /// Processes up to 256 packets.
    fn process(&self, local: &mut Self::Local, frame: &mut Frame<'_>);
}

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// On to the next feature of the arc.
    Continue,
    /// To this one of [`Node::NEXT`].
    To(u32),
    /// Dropped, and counted at this one of [`Node::REASONS`].
    Drop(u32),
    /// Given back to the pool: it was sent.
    Consumed,
    /// Sent by [`Packet::hand_off`].
    Taken,
}

impl Verdict {
    #[inline(always)]
    fn number(self) -> u32 {
        match self {
            Self::Continue => u32::MAX,
            Self::Consumed => u32::MAX - 1,
            Self::Taken => u32::MAX - 2,
            Self::To(next) => next.min((1 << 31) - 1),
            Self::Drop(reason) => 1 << 31 | reason.min(0xff_ffff),
        }
    }
}

/// A place on a feature arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    arc: &'a str,
    beside: Option<&'a str>,
    is_before: bool,
}

impl<'a> Place<'a> {
    /// Place of the node in the arc's catalogue.
    pub fn on(arc: &'a str) -> Self {
        Self { arc, beside: None, is_before: false }
    }
    /// Right before another node, or the arc's end.
    pub fn before(arc: &'a str, node: &'a str) -> Self {
        Self { arc, beside: Some(node), is_before: true }
    }
    /// Right behind another node.
    pub fn after(arc: &'a str, node: &'a str) -> Self {
        Self { arc, beside: Some(node), is_before: false }
    }
}

/// A command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Command<'a> {
    /// Its words, such as `show interface nth-drop`.
    pub path: &'a str,
    /// Usage line behind the path, such as `<interface> <every>`.
    pub usage: &'a str,
    /// One line for help.
    pub about: &'a str,
}

/// A message of the binary API. The reply of `x` is `x_reply`, of `x_dump` any number of
/// `x_details`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message<'a> {
    /// The file that clients look for.
    pub module: &'a str,
    /// Its version, such as `1.0.0`.
    pub version: &'a str,
    /// Name.
    pub name: &'a str,
    /// Its purpose.
    pub about: &'a str,
    /// Fields of the request, such as `interface_index sw_if_index; u32 every;`.
    pub fields: &'a str,
    /// Own fields of the reply or the details.
    pub answer: &'a str,
}

/// Stage of a line of the configuration: after those that make the objects it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Stage {
    Objects,
    Interfaces,
    SubInterfaces,
    Settings,
    Addresses,
    Attachments,
    Routes,
    State,
}

/// An interface that a plugin makes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewInterface<'a> {
    /// Name.
    pub name: &'a str,
    /// Hardware class for `show hardware-interfaces`.
    pub hardware: &'a str,
    /// Its address; all zero where it carries IP packets, not frames.
    pub mac: [u8; 6],
    /// Most bytes of a packet.
    pub mtu: u16,
}

/// A change of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Added.
    Added,
    /// About to be deleted.
    Deleting,
    /// Admin or link state.
    State,
    /// Something else.
    Other,
}

impl Change {
    fn of(number: i32) -> Self {
        match number {
            0 => Self::Added,
            1 => Self::Deleting,
            2 => Self::State,
            _ => Self::Other,
        }
    }
}

/// A timer that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer(pub(crate) u32);

/// A number for each interface that control sets and nodes read.
#[derive(Debug)]
pub struct PerInterface(Box<[AtomicU32]>);

impl Default for PerInterface {
    fn default() -> Self {
        Self((0..abi::MOST_INTERFACES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl PerInterface {
    /// The number of an interface; 0 for one that cannot be.
    #[inline]
    pub fn get(&self, interface: u32) -> u32 {
        self.0.get(interface as usize).map_or(0, |number| number.load(Relaxed))
    }
    /// Sets it.
    pub fn set(&self, interface: u32, number: u32) {
        if let Some(place) = self.0.get(interface as usize) {
            place.store(number, Relaxed);
        }
    }
}

/// The fields of a message, taken one after the other. The router has seen to it that all declared
/// ones are there.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

macro_rules! numbers {
    ($($name:ident)*) => {
        impl<'a> Fields<'a> {
            pub(crate) fn of(bytes: &'a [u8]) -> Self {
                Self(bytes)
            }
            fn take<const N: usize>(&mut self) -> [u8; N] {
                let Some((taken, rest)) = self.0.split_first_chunk() else { return [0; N] };
                self.0 = rest;
                *taken
            }
            $(
                /// Takes a number.
                pub fn $name(&mut self) -> $name {
                    $name::from_be_bytes(self.take())
                }
            )*
        }

        impl Bytes {
            $(
                /// Adds a number.
                #[must_use]
                pub fn $name(mut self, number: $name) -> Self {
                    self.0.extend(number.to_be_bytes());
                    self
                }
            )*
        }
    };
}

/// The fields of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

numbers!(u8 u16 u32 u64 i32);
