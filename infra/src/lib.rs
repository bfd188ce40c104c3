//! Primitives below everything else: memory, read-copy-update, tables, time, processors.

pub mod capabilities;
pub mod counter;
pub mod cpu;
pub mod memory;
pub mod meter;
pub mod order;
pub mod owner;
pub mod random;
pub mod rcu;
pub mod replay;
pub mod ring;
pub mod sequence;
mod sync;
pub mod table;
pub mod time;
pub mod timer;
