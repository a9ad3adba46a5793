//! The conversation: a persistent list of messages.

use std::{
    array, fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rpds::VectorSync;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Message;

/// How many messages a block has room for.
const BLOCK: usize = 32;

/// A conversation: a persistent list. A clone is O(1), and so is a push.
///
/// Copies of a list share its blocks, also the last one: a push fills the next place of it, which the other copies do not
/// look at. If another copy has filled that place already, the block is copied first.
#[derive(Clone)]
pub struct Messages {
    /// Blocks without room.
    full: VectorSync<Arc<Block>>,
    /// `None` only if the list is empty.
    last: Option<Arc<Block>>,
    len: usize,
    bytes: usize,
    /// Changes with everything but a push, so that two lists of one generation differ only in their tails.
    generation: u64,
}

/// Filled from the first place on.
struct Block([OnceLock<Arc<Message>>; BLOCK]);

impl Block {
    fn of<'m>(messages: impl IntoIterator<Item = &'m Arc<Message>>) -> Arc<Self> {
        let mut messages = messages.into_iter().cloned();
        Arc::new(Self(array::from_fn(|_| messages.next().map_or_else(OnceLock::new, OnceLock::from))))
    }

    fn iter(&self, len: usize) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.0[..len].iter().filter_map(OnceLock::get)
    }
}

impl Messages {
    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        self.push_shared(Arc::new(message));
    }

    fn push_shared(&mut self, message: Arc<Message>) {
        self.bytes += message.weight();
        let place = self.len % BLOCK;
        self.len += 1;
        match &mut self.last {
            Some(last) if place > 0 => {
                if let Err(message) = last.0[place].set(message) {
                    *last = Block::of(last.iter(place).chain([&message]));
                }
            }
            last => {
                if let Some(full) = last.replace(Block::of([&message])) {
                    self.full.push_back_mut(full);
                }
            }
        }
    }

    fn shared(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let in_last = self.len - self.full.len() * BLOCK;
        let last = self.last.iter().flat_map(move |block| block.iter(in_last));
        self.full.iter().flat_map(|block| block.iter(BLOCK)).chain(last)
    }

    fn get_shared(&self, index: usize) -> Option<&Arc<Message>> {
        let block = match index / BLOCK {
            _ if index >= self.len => return None,
            block if block < self.full.len() => self.full.get(block)?,
            _ => self.last.as_ref()?,
        };
        block.0[index % BLOCK].get()
    }

    /// Keeps the messages for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Message) -> bool) {
        *self = self.shared().filter(|message| keep(message)).cloned().collect();
    }

    /// Puts messages right behind what the list was `before`, and what has been added to it since behind them. If more
    /// than adding has happened since, they go to the end.
    pub(crate) fn insert_since(&mut self, before: &Self, messages: impl Iterator<Item = Message>) {
        let added: Vec<Message> = match before.added(self) {
            Some(added) => added.cloned().collect(),
            None => Vec::new(),
        };
        if !added.is_empty() {
            *self = before.clone();
        }
        for message in messages.chain(added) {
            self.push(message);
        }
    }

    /// Puts another message in place of one.
    pub fn set(&mut self, index: usize, message: Message) -> bool {
        let Some(old) = self.get(index) else { return false };
        self.bytes = self.bytes - old.weight() + message.weight();
        self.generation = fresh_generation();
        let first = index - index % BLOCK;
        let in_block = (first..self.len.min(first + BLOCK)).filter_map(|at| self.get_shared(at));
        let message = Arc::new(message);
        let block = Block::of((first..).zip(in_block).map(|(at, old)| if at == index { &message } else { old }));
        if index / BLOCK < self.full.len() {
            self.full.set_mut(index / BLOCK, block);
        } else {
            self.last = Some(block);
        }
        true
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.shared().map(|message| &**message)
    }

    /// The message at this place.
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.get_shared(index).map(|message| &**message)
    }

    /// The newest message.
    pub fn last(&self) -> Option<&Message> {
        self.get(self.len.checked_sub(1)?)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Roughly how many tokens a model reads for them: four bytes a token.
    pub fn estimated_tokens(&self) -> u64 {
        (self.bytes / 4) as u64
    }

    /// Roughly how many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Returns how many leading messages `after` shares with this list, and the messages that follow them in `after`.
    pub(crate) fn tail(&self, after: &Self) -> (usize, Vec<Arc<Message>>) {
        let same = |(one, other): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other);
        let common = match self.added(after) {
            Some(_) => self.len(),
            None => self.shared().zip(after.shared()).take_while(same).count(),
        };
        (common, (common..after.len()).filter_map(|index| after.get_shared(index).cloned()).collect())
    }

    /// Keeps so many from the first, and puts these behind them.
    pub(crate) fn regrow(&mut self, kept: usize, behind: Vec<Arc<Message>>) {
        if kept < self.len() {
            *self = self.shared().take(kept).cloned().collect();
        }
        for message in behind {
            self.push_shared(message);
        }
    }

    /// The messages that `after` has added to this list, if adding is all that happened. Costs nothing but the answer.
    pub(crate) fn added<'m>(&self, after: &'m Self) -> Option<impl Iterator<Item = &'m Message>> {
        let shared = self.len().checked_sub(1);
        let same = |index: usize| match (self.get_shared(index), after.get_shared(index)) {
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            _ => false,
        };
        let grown = self.generation == after.generation && shared.is_none_or(same);
        grown.then(|| (self.len()..after.len()).filter_map(|index| after.get(index)))
    }
}

fn fresh_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for Messages {
    fn default() -> Self {
        Self { full: VectorSync::new_sync(), last: None, len: 0, bytes: 0, generation: fresh_generation() }
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut list = Self::default();
        messages.into_iter().for_each(|message| list.push_shared(message));
        list
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        messages.into_iter().map(Arc::new).collect()
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.shared().eq(other.shared())
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Message>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Act {
        Push,
        Set(usize),
        Retain(usize),
        Copy,
        Switch(usize),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            8 => Just(Act::Push),
            1 => any::<usize>().prop_map(Act::Set),
            1 => (2usize..9).prop_map(Act::Retain),
            1 => Just(Act::Copy),
            2 => any::<usize>().prop_map(Act::Switch),
        ];
        prop::collection::vec(act, 0..200)
    }

    proptest! {
        #[test]
        fn copies_of_a_conversation_go_on_each_on_their_own(acts in acts(), first in 0usize..70) {
            let mut copies = vec![(Messages::default(), Vec::new())];
            let (mut current, mut number) = (0, 0);
            let mut message = || {
                number += 1;
                Message::user(format!("message {number}"))
            };
            for act in std::iter::repeat_n(Act::Push, first).chain(acts) {
                let (list, plain) = &mut copies[current];
                match act {
                    Act::Push => {
                        let message = message();
                        list.push(message.clone());
                        plain.push(message);
                    }
                    Act::Set(at) if !plain.is_empty() => {
                        let (at, message) = (at % plain.len(), message());
                        prop_assert!(list.set(at, message.clone()));
                        plain[at] = message;
                    }
                    Act::Set(at) => prop_assert!(!list.set(at, message())),
                    Act::Retain(nth) => {
                        let mut at = 0;
                        list.retain(|_| {
                            at += 1;
                            at % nth > 0
                        });
                        plain.retain({
                            let mut at = 0;
                            move |_| {
                                at += 1;
                                at % nth > 0
                            }
                        });
                    }
                    Act::Copy => {
                        let copy = (list.clone(), plain.clone());
                        copies.push(copy);
                    }
                    Act::Switch(to) => current = to % copies.len(),
                }
            }
            for (list, plain) in &copies {
                prop_assert_eq!(list.len(), plain.len());
                prop_assert!(list.iter().eq(plain));
                prop_assert!(list.iter().rev().eq(plain.iter().rev()));
                prop_assert!((0..=plain.len()).all(|at| list.get(at) == plain.get(at)));
                prop_assert_eq!(list.last(), plain.last());
                prop_assert_eq!(list.bytes(), plain.iter().map(|message| message.weight() as u64).sum::<u64>());
            }
            for (one, other) in copies.iter().flat_map(|one| copies.iter().map(move |other| (one, other))) {
                let (kept, behind) = one.0.tail(&other.0);
                let mut grown = one.0.clone();
                grown.regrow(kept, behind);
                prop_assert!(grown.iter().eq(&other.1));
                if let Some(added) = one.0.added(&other.0) {
                    prop_assert!(one.1.iter().chain(added).eq(&other.1));
                }
            }
        }
    }
}
