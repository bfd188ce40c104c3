//! An ordered map for millions of entries: a tree of wide nodes.
//!
//! What a search waits for is memory. So a node holds 64 keys, all of whose lines are asked for at
//! once when its number is known, and values lie outside: a tree over a million keys has four
//! levels, all but the last of which stay in the cache, and new values lie side by side.

use std::ops::Index;

use infra::cpu::prefetch;

/// Most keys of a node.
const WIDTH: usize = 64;
/// Stands where a node has no neighbour.
const NONE: u32 = u32::MAX;

/// Keys in ascending order, each with the place of its value or, above the leaves, the number of a
/// child. No key of a child is below the one it stands at, but the first child has whatever is
/// below the second.
struct Node<K> {
    keys: [K; WIDTH],
    below: [u32; WIDTH],
    count: usize,
    /// The nodes before and after it on its level.
    neighbors: [u32; 2],
}

impl<K: Copy + Ord + Default> Node<K> {
    fn new() -> Self {
        let (keys, below) = ([K::default(); WIDTH], [NONE; WIDTH]);
        Self { keys, below, count: 0, neighbors: [NONE; 2] }
    }
    /// Number of keys that are not above `key`.
    fn rank(&self, key: &K) -> usize {
        self.keys[..self.count].partition_point(|k| k <= key)
    }
    /// Asks for all of it.
    fn fetch(&self) {
        self.keys.chunks(64 / size_of::<K>()).for_each(|line| prefetch(&line[0]));
        self.below.chunks(64 / size_of::<u32>()).for_each(|line| prefetch(&line[0]));
    }
    fn insert(&mut self, at: usize, key: K, below: u32) {
        self.keys.copy_within(at..self.count, at + 1);
        self.below.copy_within(at..self.count, at + 1);
        (self.keys[at], self.below[at]) = (key, below);
        self.count += 1;
    }
    fn remove(&mut self, at: usize) -> u32 {
        let gone = self.below[at];
        self.keys.copy_within(at + 1..self.count, at);
        self.below.copy_within(at + 1..self.count, at);
        self.count -= 1;
        gone
    }
}

/// Place of the value of a key, as long as the key is there.
#[derive(Clone, Copy)]
pub(in crate::fib) struct Place(u32);

/// A map whose keys are in order. It keeps the memory it once needed.
pub(in crate::fib) struct OrderedMap<K, V> {
    nodes: Vec<Node<K>>,
    root: u32,
    /// Levels of nodes above the leaves.
    height: usize,
    values: Vec<Option<V>>,
    free_nodes: Vec<u32>,
    free_values: Vec<u32>,
}

impl<K: Copy + Ord + Default, V> OrderedMap<K, V> {
    pub fn new() -> Self {
        let (nodes, values) = (vec![Node::new()], Vec::new());
        let (free_nodes, free_values) = (Vec::new(), Vec::new());
        Self { nodes, root: 0, height: 0, values, free_nodes, free_values }
    }
    pub fn len(&self) -> usize {
        self.values.len() - self.free_values.len()
    }
    pub fn get(&self, key: &K) -> Option<&V> {
        self.at(Place(self.place(key)?))
    }
    pub fn at(&self, place: Place) -> Option<&V> {
        self.values[place.0 as usize].as_ref()
    }
    /// Asks for the keys around this one.
    pub fn fetch(&self, key: &K) {
        self.leaf(key);
    }
    /// Place of the value of a key; prefetches its cache lines.
    pub fn find(&self, key: &K) -> Option<Place> {
        let place = self.place(key)?;
        prefetch(&self.values[place as usize]);
        Some(Place(place))
    }
    pub fn at_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        self.values[place as usize].as_mut()
    }
    /// Adds a value at a key that has none.
    pub fn add(&mut self, key: K, value: V) {
        debug_assert!(self.place(&key).is_none(), "a key has one value");
        let place = self.free_values.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() as u32 - 1
        });
        self.values[place as usize] = Some(value);
        if let Some((first, right)) = self.insert_below(self.root, self.height, key, place) {
            let mut root = Node::new();
            root.insert(0, self.node(self.root).keys[0], self.root);
            root.insert(1, first, right);
            self.root = self.add_node(root);
            self.height += 1;
        }
    }
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let place = self.remove_below(self.root, self.height, key)?;
        while self.height > 0 && self.node(self.root).count == 1 {
            self.free_nodes.push(self.root);
            self.root = self.node(self.root).below[0];
            self.height -= 1;
        }
        self.free_values.push(place);
        self.values[place as usize].take()
    }
    /// The last key that is not above `key`.
    pub fn last_until(&self, key: &K) -> Option<(K, Place)> {
        let mut node = self.node(self.leaf(key));
        let mut count = node.rank(key);
        if count == 0 {
            node = self.nodes.get(node.neighbors[0] as usize)?;
            count = node.count;
        }
        let last = count.checked_sub(1)?;
        Some((node.keys[last], Place(node.below[last])))
    }
    /// All entries after a key, or all entries, in order.
    pub fn after(&self, last: Option<K>) -> impl Iterator<Item = (&K, &V)> {
        let first = || (0..self.height).fold(self.root, |node, _| self.node(node).below[0]);
        let leaf = last.map_or_else(first, |key| self.leaf(&key));
        let skip = last.map_or(0, |key| self.node(leaf).rank(&key));
        let next = |node: &&Node<K>| self.nodes.get(node.neighbors[1] as usize);
        let nodes = std::iter::successors(Some(self.node(leaf)), next);
        let all = nodes.flat_map(|node| (0..node.count).map(move |at| (node, at)));
        all.skip(skip).filter_map(|(node, at)| self.entry(node, at))
    }
    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.after(None)
    }

    fn node(&self, node: u32) -> &Node<K> {
        &self.nodes[node as usize]
    }
    fn node_mut(&mut self, node: u32) -> &mut Node<K> {
        &mut self.nodes[node as usize]
    }
    fn entry<'m>(&'m self, node: &'m Node<K>, at: usize) -> Option<(&'m K, &'m V)> {
        Some((&node.keys[at], self.values[node.below[at] as usize].as_ref()?))
    }
    /// The child that a key is below.
    fn child(&self, node: u32, key: &K) -> usize {
        self.node(node).rank(key).saturating_sub(1)
    }
    fn leaf(&self, key: &K) -> u32 {
        (0..self.height).fold(self.root, |node, _| {
            let child = self.node(node).below[self.child(node, key)];
            self.node(child).fetch();
            child
        })
    }
    fn place(&self, key: &K) -> Option<u32> {
        let leaf = self.node(self.leaf(key));
        let at = leaf.rank(key).checked_sub(1)?;
        (leaf.keys[at] == *key).then_some(leaf.below[at])
    }
    fn add_node(&mut self, node: Node<K>) -> u32 {
        if let Some(free) = self.free_nodes.pop() {
            *self.node_mut(free) = node;
            return free;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
    /// Inserts a missing key; returns the node added after this one, if any, and its first key.
    fn insert_below(&mut self, node: u32, height: usize, key: K, place: u32) -> Option<(K, u32)> {
        if height == 0 {
            return self.put(node, self.node(node).rank(&key), key, place);
        }
        let at = self.child(node, &key);
        let (first, right) =
            self.insert_below(self.node(node).below[at], height - 1, key, place)?;
        self.put(node, at + 1, first, right)
    }
    fn put(&mut self, node: u32, at: usize, key: K, below: u32) -> Option<(K, u32)> {
        let left = self.node_mut(node);
        if left.count < WIDTH {
            left.insert(at, key, below);
            return None;
        }
        // Sorted keys leave full nodes behind.
        let middle = if at == WIDTH { WIDTH } else { WIDTH / 2 };
        let mut right = Node::new();
        for i in middle..WIDTH {
            right.insert(i - middle, left.keys[i], left.below[i]);
        }
        left.count = middle;
        if at > middle || middle == WIDTH {
            right.insert(at - middle, key, below);
        } else {
            left.insert(at, key, below);
        }
        let first = right.keys[0];
        let next = left.neighbors[1];
        right.neighbors = [node, next];
        let right = self.add_node(right);
        self.node_mut(node).neighbors[1] = right;
        self.join([right, next]);
        Some((first, right))
    }
    /// Makes two nodes neighbours of each other; either may be missing.
    fn join(&mut self, pair: [u32; 2]) {
        for (i, node) in pair.into_iter().enumerate() {
            if node != NONE {
                self.node_mut(node).neighbors[1 - i] = pair[1 - i];
            }
        }
    }
    /// Removes a key; returns the place of its value. Nodes go when they are empty.
    fn remove_below(&mut self, node: u32, height: usize, key: &K) -> Option<u32> {
        if height == 0 {
            let at = self.node(node).rank(key).checked_sub(1)?;
            let is_there = self.node(node).keys[at] == *key;
            return is_there.then(|| self.node_mut(node).remove(at));
        }
        let at = self.child(node, key);
        let child = self.node(node).below[at];
        let place = self.remove_below(child, height - 1, key)?;
        if self.node(child).count == 0 {
            self.join(self.node(child).neighbors);
            self.free_nodes.push(child);
            self.node_mut(node).remove(at);
        }
        Some(place)
    }
}

impl<K: Copy + Ord + Default, V> Index<&K> for OrderedMap<K, V> {
    type Output = V;
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("who indexes has found the key there")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Bound::{Excluded, Unbounded};

    use proptest::prelude::*;

    use super::*;

    /// Does the same to both maps and compares all that can be asked.
    fn compare(steps: &[(bool, u16)]) {
        let (mut ours, mut theirs) = (OrderedMap::new(), BTreeMap::new());
        for (i, (comes, key)) in steps.iter().enumerate() {
            if *comes && !theirs.contains_key(key) {
                ours.add(*key, i);
                theirs.insert(*key, i);
            } else if *comes {
                ours.at_mut(key).into_iter().for_each(|value| *value = i);
                theirs.insert(*key, i);
            } else {
                assert_eq!(ours.remove(key), theirs.remove(key));
            }
            assert_eq!((ours.len(), ours.get(key)), (theirs.len(), theirs.get(key)));
            let last = ours.last_until(key).and_then(|(key, place)| Some((key, *ours.at(place)?)));
            assert_eq!(last, theirs.range(..=key).next_back().map(|(key, value)| (*key, *value)));
            assert_eq!(ours.find(key).and_then(|place| ours.at(place)), theirs.get(key));
            let after = theirs.range((Excluded(*key), Unbounded)).next();
            assert_eq!(ours.after(Some(*key)).next(), after);
        }
        assert!(ours.iter().eq(theirs.iter()));
        let used = ours.nodes.len() - ours.free_nodes.len();
        assert!(used <= 3 * theirs.len() + 1, "{used} nodes for {} entries", theirs.len());
    }

    #[test]
    fn keys_that_come_in_order_fill_their_nodes() {
        let mut map = OrderedMap::new();
        (0..64 * 64u32).for_each(|key| map.add(key, key));
        assert_eq!((map.nodes.len(), map.height), (64 + 1, 1));
        let steps: Vec<_> = (0..9000).map(|key| (true, key)).collect();
        compare(&steps);
        let back: Vec<_> = (0..9000).rev().map(|key| (true, key)).collect();
        compare(&back);
        let gone = (0..9000).map(|key| (false, key));
        compare(&steps.into_iter().chain(gone).collect::<Vec<_>>());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn agrees_with_the_standard_librarys(
            come in prop::collection::vec(any::<u16>(), 1..6000),
            steps in prop::collection::vec(any::<(bool, u16)>(), 1..500),
            left in 0..50usize,
        ) {
            let leave = come.iter().skip(left).map(|key| (false, *key));
            let all = come.iter().map(|key| (true, *key)).chain(steps.iter().copied());
            compare(&all.chain(leave).chain(steps.iter().copied()).collect::<Vec<_>>());
        }
    }
}
