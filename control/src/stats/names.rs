//! A vector of names: pointers to texts, by object.

use std::sync::Arc;

use infra::memory::shared::{Block, Region};

use super::directory::store_bytes;
use super::layout::LEAD;

/// The memory of a vector of names.
#[derive(Debug)]
pub(super) struct NameVector {
    block: Block,
    texts: Vec<Option<(Block, Arc<str>)>>,
    capacity: usize,
}

impl NameVector {
    /// `None` when the region has no room.
    pub fn new(region: &Arc<Region>, capacity: usize) -> Option<Self> {
        let block = region.block(8 * (LEAD + capacity))?;
        Some(Self { block, texts: Vec::new(), capacity })
    }
    pub fn pointer(&self) -> u64 {
        self.block.address(LEAD)
    }
    /// Bytes that a name takes at most.
    pub fn cost(name: &str) -> u64 {
        (name.len() + 1 + 8).next_power_of_two().max(64) as u64 + 8
    }
    /// Sets a name. False when it is out of range or there is no room.
    pub fn set(&mut self, region: &Arc<Region>, index: usize, name: &str) -> bool {
        if index >= self.capacity {
            return false;
        }
        // One word for the length, then the text with a zero at its end.
        let Some(text) = region.block(8 + name.len() + 1) else { return false };
        text.store(0, name.len() as u64 + 1);
        store_bytes(&text, 1, name.as_bytes());
        self.block.store(LEAD + index, text.address(1));
        self.texts.resize_with(self.texts.len().max(index + 1), || None);
        self.texts[index] = Some((text, name.into()));
        self.block.store(LEAD - 1, self.texts.len() as u64);
        true
    }
    /// Takes away the names from `len` on.
    pub fn shrink(&mut self, len: usize) {
        let len = len.min(self.texts.len());
        self.block.store(LEAD - 1, len as u64);
        self.block.clear(LEAD + len..LEAD + self.texts.len());
        self.texts.truncate(len);
        self.texts.shrink_to(2 * len);
    }
    /// All names, `None` where there is none.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.texts.iter().map(|text| text.as_ref().map(|(_, name)| &**name))
    }
    pub fn at(&self, index: usize) -> Option<&str> {
        self.texts.get(index)?.as_ref().map(|(_, name)| &**name)
    }
}
