//! What plugins in shared objects are written with.
pub mod abi;
