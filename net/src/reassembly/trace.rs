//! Trace records of fragments.

use std::fmt;

use graph::{Buffer, Names, Record};

use super::version::{Fragment, Reassemble};
use crate::ip::Headers;

/// A fragment: what it has in common with others, where it belongs, its headers.
pub(super) struct FragmentTrace<V> {
    text: String,
    headers: Headers<V>,
}

impl<V: Reassemble> FragmentTrace<V> {
    /// The IP header is `l3` bytes from the start of the packet.
    #[cold]
    #[inline(never)]
    pub(super) fn of(p: &Buffer<'_>, l3: usize, fragment: &Fragment<V>) -> Self {
        let text = match fragment {
            Fragment::Piece { key, from, to, is_last, .. } => {
                let more = if *is_last { "last" } else { "more" };
                format!("{key}, fragment[{from}, {}] {more}", to - 1)
            }
            Fragment::Only => "the only fragment of its packet".to_owned(),
            Fragment::Bad(_) | Fragment::Told(..) => "malformed fragment".to_owned(),
        };
        Self { text, headers: Headers::of_bytes(p.bytes().get(l3..).unwrap_or(&[])) }
    }
}

impl<V: Reassemble> Record for FragmentTrace<V> {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.text)?;
        self.headers.write(names, f)
    }
}
