//! Sessions of a parser that a plugin brings: a table of their own, whose sessions clients see as
//! those of that parser.

use super::session::{Core, Family, Of};
use super::tenant::DETOURS;

/// Sessions of the sample parser, which reads IPv4.
#[derive(Clone, Copy, Debug)]
pub struct User;

impl Family for User {
    type Address = [u8; 4];
    const KIND: u8 = 2;
    const LOOKUP: &'static str = "sample-ip4-parser";
    const DROP: &'static str = "ip4-drop";
    const DETOURS: usize = DETOURS.len();
    fn of(core: &Core) -> &Of<[u8; 4]> {
        &core.user
    }
}
