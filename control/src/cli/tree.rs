//! Command paths as a tree of words, found by any unique prefix of each word.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use super::{Args, Error};

/// Words with what they lead to. The root is node 0.
///
/// Nodes keep their numbers: of what was removed the word is gone, the node stays and is used again
/// when the word comes back.
pub(super) struct Tree<E> {
    nodes: Vec<Node<E>>,
}

/// One word of a path.
pub(super) struct Node<E> {
    /// Full path to here, words separated by one blank.
    pub path: Box<str>,
    /// Next words, sorted.
    pub children: Vec<(&'static str, usize)>,
    /// The command with this path.
    pub entry: Option<Rc<E>>,
    /// Next words that lead to no command now.
    spare: Vec<(&'static str, usize)>,
    /// The child found last: the lines of a file mostly begin alike.
    recent: Cell<usize>,
}

/// Meaning of a word below a node.
enum Next {
    Node(usize),
    Nothing,
    Several(Range<usize>),
}

impl<E> Clone for Tree<E> {
    fn clone(&self) -> Self {
        Self { nodes: self.nodes.clone() }
    }
}

impl<E> Clone for Node<E> {
    fn clone(&self) -> Self {
        Self {
            path: self.path.clone(),
            children: self.children.clone(),
            entry: self.entry.clone(),
            spare: self.spare.clone(),
            recent: self.recent.clone(),
        }
    }
}

impl<E> Node<E> {
    fn new(path: Box<str>) -> Self {
        Self { path, children: Vec::new(), spare: Vec::new(), entry: None, recent: Cell::new(0) }
    }
}

impl<E> Tree<E> {
    pub fn new() -> Self {
        Self { nodes: vec![Node::new("".into())] }
    }

    /// Puts `entry` at `path`. Fails when something is there.
    pub fn insert(&mut self, path: &'static str, entry: Rc<E>) -> Result<(), ()> {
        let mut at = 0;
        for word in path.split_ascii_whitespace() {
            at = match self.nodes[at].children.binary_search_by_key(&word, |c| c.0) {
                Ok(found) => self.nodes[at].children[found].1,
                Err(place) => self.grow(at, place, word),
            };
        }
        let slot = &mut self.nodes[at].entry;
        if slot.is_some() {
            return Err(());
        }
        *slot = Some(entry);
        Ok(())
    }

    fn grow(&mut self, parent: usize, place: usize, word: &'static str) -> usize {
        if let Some(at) = self.nodes[parent].spare.iter().position(|(spare, _)| *spare == word) {
            let known = self.nodes[parent].spare.swap_remove(at);
            self.nodes[parent].children.insert(place, known);
            return known.1;
        }
        let above = &self.nodes[parent].path;
        let path = if above.is_empty() { word.into() } else { format!("{above} {word}").into() };
        let new = self.nodes.len();
        self.nodes.push(Node::new(path));
        self.nodes[parent].children.insert(place, (word, new));
        new
    }

    /// Removes the commands selected by `is_it`, and words that no longer lead to a command.
    pub fn remove(&mut self, is_it: impl Fn(&E) -> bool) {
        for node in &mut self.nodes {
            node.entry.take_if(|entry| is_it(entry));
        }
        // Children have higher numbers than what they hang below.
        for at in (0..self.nodes.len()).rev() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            let (used, spare): (Vec<_>, _) = children.drain(..).partition(|(_, child)| {
                let child = &self.nodes[*child];
                child.entry.is_some() || !child.children.is_empty()
            });
            self.nodes[at].children = used;
            self.nodes[at].spare.extend(spare);
        }
    }

    /// All commands by their paths.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &E)> {
        self.nodes.iter().filter_map(|node| Some((&*node.path, &**node.entry.as_ref()?)))
    }

    /// Node by number.
    pub fn node(&self, at: usize) -> &Node<E> {
        &self.nodes[at]
    }

    /// Children of `at` that start with `prefix`, as a range of `node(at).children`.
    pub fn starting(&self, at: usize, prefix: &str) -> Range<usize> {
        let children = &self.nodes[at].children;
        let start = children.partition_point(|c| c.0 < prefix);
        let len = children[start..].partition_point(|c| c.0.starts_with(prefix));
        start..start + len
    }

    /// Follows the words of `args` as far as they are path words and leaves the rest. At a node
    /// that is a command itself a word that fits no child is left as its argument.
    pub fn descend(&self, args: &mut Args<'_>) -> Result<usize, Error> {
        let mut at = 0;
        while let Some(word) = args.peek() {
            if self.nodes[at].children.is_empty() {
                break;
            }
            match self.next(at, word) {
                Next::Node(child) => at = child,
                Next::Several(found) if self.nodes[at].entry.is_none() => {
                    return Err(self.ambiguous(at, args, found));
                }
                Next::Nothing | Next::Several(_) => break,
            }
            args.word();
        }
        Ok(at)
    }

    /// The node of a longer path whose next word stands after the first of `args`, and the words
    /// around that one.
    pub fn longer(&self, at: usize, args: Args<'_>) -> Option<(usize, String)> {
        let words: Vec<_> = args.remaining().split_ascii_whitespace().collect();
        let long = words.iter().enumerate().skip(1).filter(|(_, word)| word.len() >= 3);
        let (place, node) =
            long.into_iter().find_map(|(place, word)| match self.next(at, word) {
                Next::Node(node) => Some((place, node)),
                Next::Nothing | Next::Several(_) => None,
            })?;
        Some((node, [&words[..place], &words[place + 1..]].concat().join(" ")))
    }

    fn next(&self, at: usize, word: &str) -> Next {
        let Node { children, recent, .. } = &self.nodes[at];
        if let Some(same) = children.get(recent.get()).filter(|c| c.0 == word) {
            return Next::Node(same.1);
        }
        // Usually the whole word stands there.
        if let Ok(same) = children.binary_search_by_key(&word, |c| c.0) {
            recent.set(same);
            return Next::Node(children[same].1);
        }
        let found = self.starting(at, word);
        match found.len() {
            0 => Next::Nothing,
            1 => Next::Node(children[found.start].1),
            _ => Next::Several(found),
        }
    }

    fn ambiguous(&self, at: usize, args: &Args<'_>, found: Range<usize>) -> Error {
        let node = &self.nodes[at];
        let words: Vec<_> = node.children[found].iter().map(|c| c.0).collect();
        let message = format!("ambiguous input `{}': {}", args.remaining(), words.join(", "));
        Error::new(message).under(&node.path)
    }
}
