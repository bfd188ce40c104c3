//! Answers to packets that commands sent: nodes report those that are awaited to control, which
//! keeps them for the command.

use std::collections::VecDeque;
use std::hash::Hash;

use graph::{FRAME, Held};
use net::ip::Headers;
use net::prelude::*;

/// Answers that are kept for one command at most.
const MOST: usize = 1024;

/// An answer.
pub trait Answer: Event {
    /// Key that tells the answers for one command from those for another.
    type Key: Copy + Eq + Hash + Send + Sync + 'static;

    /// The command that it is for.
    fn key(&self) -> Self::Key;
}

/// The format of an answer in packets of one IP version.
pub trait AnswerFormat<V: Version>: Answer {
    /// Name of the node that takes such packets.
    const NODE: &'static str;

    /// Reads a packet for this router that came at `now`, in seconds; `None` when it is too short.
    fn read(p: &Buffer<'_>, now: f64) -> Option<Self>;
}

/// The commands in progress, and answers for them.
pub struct PendingAnswers<A: Answer> {
    /// For the nodes.
    keys: Shared<Vec<A::Key>>,
    answers: HashMap<A::Key, VecDeque<A>>,
}

impl<A: Answer> Default for PendingAnswers<A> {
    fn default() -> Self {
        Self { keys: Shared::new(Vec::new()), answers: HashMap::new() }
    }
}

impl<A: Answer> PendingAnswers<A> {
    /// Adds the node for one version.
    ///
    /// # Errors
    /// The engine's.
    pub fn add_node<V: Version>(&self, router: &mut Router) -> Result<(), BuildError>
    where
        A: AnswerFormat<V>,
    {
        let (keys, events) = (self.keys.reader(), router.events.sender());
        let done = Vec::with_capacity(FRAME);
        let node = Answers::<V, A> { keys, events, done, of: PhantomData };
        let node = router.engine.add(node)?;
        router.engine.starts(node, V::PUNT_ARC)
    }
    /// Whether no command is in progress.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }
    /// Whether a command has this key.
    pub fn has(&self, key: A::Key) -> bool {
        self.answers.contains_key(&key)
    }
    /// Keeps answers for a command from now on.
    pub fn begin(&mut self, key: A::Key) {
        self.answers.insert(key, VecDeque::new());
        self.publish();
    }
    /// The command is over.
    pub fn end(&mut self, key: A::Key) {
        self.answers.remove(&key);
        self.publish();
    }
    /// The next answer for a command.
    pub fn next(&mut self, key: A::Key) -> Option<A> {
        self.answers.get_mut(&key)?.pop_front()
    }
    /// Keeps an answer that the data plane reported, if its command is still in progress.
    pub fn note(&mut self, answer: A) {
        let waiting = self.answers.get_mut(&answer.key());
        if let Some(waiting) = waiting.filter(|waiting| waiting.len() < MOST) {
            waiting.push_back(answer);
        }
    }
    fn publish(&mut self) {
        self.keys.publish(self.answers.keys().copied().collect());
    }
}

/// Reports answers to control, with their time.
pub struct Answers<V, A: Answer> {
    keys: Reader<Vec<A::Key>>,
    events: EventSender<A>,
    /// Answers of the frame at hand that were reported.
    done: Vec<Held>,
    of: PhantomData<(V, A)>,
}

impl<V, A: Answer> Clone for Answers<V, A> {
    fn clone(&self) -> Self {
        let (keys, events) = (self.keys.clone(), self.events.clone());
        Self { keys, events, done: Vec::with_capacity(FRAME), of: PhantomData }
    }
}

/// Edges of [`Answers`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// Features give answers that nothing waits for to another router.
    #[to(V::NODES.punt)]
    Punt(V),
}

/// Drops of [`Answers`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// replies without a request.
    Unexpected,
    /// replies too short.
    TooShort,
}

impl<V: Version, A: AnswerFormat<V>> Node for Answers<V, A> {
    const NAME: &'static str = A::NODE;
    type Next = Next<V>;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let punts = frame.start(V::PUNT_ARC);
        let (keys, now) = (self.keys.read(frame.epoch()), frame.now());
        let events = &mut self.events;
        frame.each_or_keep(&mut self.done, |p| {
            p.trace(Headers::<V>::of);
            let answer = A::read(p, now).ok_or(Error::TooShort);
            let is_awaited = |answer: &A| keys.contains(&answer.key());
            let reason = match answer {
                Ok(answer) if is_awaited(&answer) => {
                    events.send(answer);
                    return Ok(None);
                }
                Ok(_) => Error::Unexpected,
                Err(reason) => reason,
            };
            punts.first(p.rx()).ok_or(reason)?;
            p.error(reason);
            Ok(Some(Next::Punt(V::SELF)))
        });
        self.done.clear();
    }
}
