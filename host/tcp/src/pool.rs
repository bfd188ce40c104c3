//! Pools of preallocated blocks.

/// Number of a block in its pool, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(u32);

impl Block {
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Default for Block {
    fn default() -> Self {
        Self::NONE
    }
}

/// Contents that can be cleared for the next user.
pub(crate) trait Clear: Default {
    fn clear(&mut self);
}

/// A pool with a fixed limit of blocks. Address space is reserved; memory is used only by blocks
/// that have ever been allocated. The block freed last is allocated next.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    blocks: Vec<T>,
    free: Vec<u32>,
    limit: usize,
}

impl<T: Clear> Pool<T> {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.min(u32::MAX as usize - 1);
        Self { blocks: Vec::with_capacity(limit), free: Vec::with_capacity(limit), limit }
    }

    /// Allocates an empty block; `None` if all are in use.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Block> {
        if let Some(index) = self.free.pop() {
            self.blocks[index as usize].clear();
            return Some(Block(index));
        }
        (self.blocks.len() < self.limit).then(|| {
            self.blocks.push(T::default());
            Block(self.blocks.len() as u32 - 1)
        })
    }

    /// Frees a block, if there is one.
    #[inline]
    pub(crate) fn give(&mut self, block: &mut Block) {
        if !block.is_none() {
            self.free.push(block.0);
            *block = Block::NONE;
        }
    }

    /// Moves a block to another pool; `false`, without a change, if that pool is full.
    pub(crate) fn hand_over(&mut self, block: &mut Block, to: &mut Self) -> bool {
        if block.is_none() {
            return true;
        }
        let Some(new) = to.take() else { return false };
        std::mem::swap(self.at_mut(*block), to.at_mut(new));
        self.give(block);
        *block = new;
        true
    }

    #[inline(always)]
    pub(crate) fn at(&self, block: Block) -> &T {
        &self.blocks[block.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, block: Block) -> &mut T {
        &mut self.blocks[block.0 as usize]
    }

    /// Number of blocks in use.
    pub(crate) fn taken(&self) -> usize {
        self.blocks.len() - self.free.len()
    }
}
