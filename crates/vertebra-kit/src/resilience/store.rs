//! Answers kept for a while: bounded by age, number and size, the least recently used goes first.

use std::{collections::HashMap, time::Duration};

use vertebra::Response;

/// What names a request.
pub(crate) type Key = [u8; 32];

#[derive(Debug, Default)]
pub(crate) struct Store {
    kept: HashMap<Key, Kept>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    response: Response,
    bytes: usize,
    until: Duration,
    used: u64,
}

/// How much may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

impl Store {
    /// The answer to this request, if it is not too old.
    pub(crate) fn get(&mut self, key: &Key, now: Duration) -> Option<Response> {
        if self.kept.get(key)?.until <= now {
            self.remove(key);
            return None;
        }
        self.uses += 1;
        let kept = self.kept.get_mut(key)?;
        kept.used = self.uses;
        Some(kept.response.clone())
    }

    /// Keeps an answer, unless one is there that is good enough. What does not fit at all is not kept.
    pub(crate) fn put(&mut self, key: Key, response: Response, now: Duration, until: Duration, room: Room) {
        let bytes = size(&response);
        if self.get(&key, now).is_some() || bytes > room.bytes || room.entries == 0 {
            return;
        }
        while self.kept.len() >= room.entries || self.bytes + bytes > room.bytes {
            let Some(oldest) = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| *key) else { break };
            self.remove(&oldest);
        }
        self.uses += 1;
        self.bytes += bytes;
        self.kept.insert(key, Kept { response, bytes, until, used: self.uses });
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.bytes;
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn size(response: &Response) -> usize {
    serde_json::to_vec(response).map_or(usize::MAX, |written| written.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { entries: 2, bytes: 1000 };
    const LATER: Duration = Duration::from_secs(10);

    fn kept(store: &mut Store, now: Duration) -> Vec<u8> {
        (0..9).filter(|name| store.get(&[*name; 32], now).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut store = Store::default();
        store.put([1; 32], "one".into(), Duration::ZERO, LATER, ROOM);
        store.put([2; 32], "two".into(), Duration::ZERO, LATER, ROOM);
        store.get(&[1; 32], Duration::ZERO);
        store.put([3; 32], "three".into(), Duration::ZERO, LATER, ROOM);
        assert_eq!(kept(&mut store, Duration::ZERO), [1, 3]);
        assert_eq!(kept(&mut store, LATER), [] as [u8; 0]);
        assert_eq!(store.bytes, 0);
    }

    #[test]
    fn what_is_kept_never_takes_more_than_there_is_room() {
        let mut store = Store::default();
        store.put([1; 32], "x".repeat(700).into(), Duration::ZERO, LATER, ROOM);
        store.put([2; 32], "y".repeat(700).into(), Duration::ZERO, LATER, ROOM);
        assert_eq!(kept(&mut store, Duration::ZERO), [2]);
        store.put([3; 32], "z".repeat(2000).into(), Duration::ZERO, LATER, ROOM);
        assert_eq!(kept(&mut store, Duration::ZERO), [2]);
        assert!(store.bytes <= ROOM.bytes);
    }
}
