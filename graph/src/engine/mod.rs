//! The engine of a data-plane thread: frames, dispatch and scatter.
//!
//! Safety contract: an index lies in at most one frame, scratch array or [`Held`] of one thread
//! (`buffer`'s contract); the engine moves indices, and turns them into [`Buffer`](crate::Buffer)s
//! only while a node or input holds the frame they lie in.

mod ahead;
mod apart;
mod chain;
mod core;
mod dispatch;
mod explain;
mod foreign;
mod frame;
mod growing;
mod handoff;
mod held;
mod intake;
mod looks;
mod monitor;
mod packet;
mod part;
mod passes;
mod recall;

pub use ahead::Ahead;
pub use apart::{Apart, Together};
pub(crate) use core::Core;
pub(crate) use core::{ArcEdges, NodeRuntime, Sampled, stamp};
pub use core::{NodeStats, ROOM};
pub(crate) use dispatch::{Dispatch, InputAdapter, NodeAdapter};
pub(crate) use explain::Walk;
pub(crate) use foreign::ForeignAdapter;
pub use foreign::{Foreign, ForeignFrame};
pub use frame::{BLOCK, Frame};
pub use growing::Growing;
pub(crate) use handoff::{CAPACITY, HandoffEntry, Outbound};
pub use held::{Held, Taken};
pub use intake::{Arrival, Intake, MOST_SLICES};
pub use monitor::{Handled, Monitored};
pub use packet::{NewPacket, Packet};
pub use part::{Lent, Part};
pub use passes::Passes;
