//! `memory { … }`, `physmem { … }` and `buffers { … }`.

use std::str::FromStr;

use super::stanza::{Error, Section};
use super::values::Size;
use crate::cli::Args;

/// The page size of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSize {
    /// Pages that the system offers, huge ones preferred.
    #[default]
    Default,
    /// The system's default huge pages.
    DefaultHuge,
    /// Pages of this many bytes, a power of two.
    Bytes(u64),
}

impl FromStr for PageSize {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "default" => Ok(Self::Default),
            "default-hugepage" => Ok(Self::DefaultHuge),
            _ => {
                let Size(bytes) = text.parse()?;
                if bytes.is_power_of_two() { Ok(Self::Bytes(bytes)) } else { Err(()) }
            }
        }
    }
}

/// Sizes of heaps. We need none of them set; they are accepted as upper bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Size of the main heap.
    pub main_heap_size: Option<Size>,
    /// Pages of the main heap.
    pub main_heap_page_size: PageSize,
    /// Page size meant by "default huge page".
    pub default_hugepage_size: Option<Size>,
    /// Most memory for packet buffers and rings.
    pub physmem_max_size: Option<Size>,
}

impl Section for Memory {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "main-heap-size" => self.main_heap_size = Some(args.value(word)?),
            "main-heap-page-size" => self.main_heap_page_size = args.value(word)?,
            "default-hugepage-size" => self.default_hugepage_size = Some(args.value(word)?),
            "max-size" => self.physmem_max_size = Some(args.value(word)?),
            "base-addr" => drop(args.value::<String>(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// Places of buffers in the pages of their pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Side by side.
    #[default]
    Packed,
    /// None crosses a page boundary.
    Natural,
}

impl FromStr for Layout {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "packed" => Ok(Self::Packed),
            "natural" => Ok(Self::Natural),
            _ => Err(()),
        }
    }
}

/// Packet buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Buffers on each NUMA node.
    pub per_numa: Option<u32>,
    /// Bytes of packet data in a buffer.
    pub data_size: Option<u32>,
    /// Pages of the buffer pools.
    pub page_size: PageSize,
    /// Places of buffers in pages.
    pub layout: Layout,
}

impl Section for Buffers {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "buffers-per-numa" => self.per_numa = Some(args.value(word)?),
            "default" if args.keyword("data-size") => {
                self.data_size = Some(args.value("data-size")?);
            }
            "page-size" => self.page_size = args.value(word)?,
            "numa" => {
                args.value::<u32>(word)?;
                if args.block()?.is_none() {
                    args.value::<String>(word)?;
                }
            }
            "layout" => self.layout = args.value(word)?,
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}
