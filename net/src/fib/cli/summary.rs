//! `show ip fib summary`: prefixes by length.

use std::fmt;

use control::cli::centred;
use serde::Serialize;

use super::show::Head;
use crate::adjacency::Link;
use crate::fib::control::table::Table;
use crate::fib::family::Family;

/// Number of prefixes of each length in a table.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    head: Head,
    prefixes: Vec<(usize, u32)>,
    #[serde(skip)]
    link: Link,
}

impl Summary {
    pub fn of<F: Family>(head: Head, t: &Table<F>) -> Self {
        let lens = t.lens().iter().copied().enumerate();
        let mut prefixes: Vec<_> = lens.filter(|(_, count)| *count > 0).collect();
        if F::LINK == Link::Ip6 {
            prefixes.reverse();
        }
        Self { head, prefixes, link: F::LINK }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.fmt(f)?;
        writeln!(f, "{:>17}{:>14}     ", "Prefix length", "Count")?;
        for (len, count) in &self.prefixes {
            match self.link {
                Link::Ip4 => writeln!(f, "{len:>20}{count:>16}")?,
                _ => writeln!(f, "{}{}", centred(len, 20), centred(count, 16))?,
            }
        }
        Ok(())
    }
}
