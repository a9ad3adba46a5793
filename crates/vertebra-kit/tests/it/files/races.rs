//! A folder is swapped for a link to the outside, over and over, while the tools are at work in it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::{SECRET, Talk, World};

/// Swaps two names until it is dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn new(world: &World, one: &str, other: &str) -> Self {
        let (one, other) = (world.root().join(one), world.root().join(other));
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, swapped) = (stop.clone(), swaps.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("a swap");
                swapped.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
            }
        });
        Self { stop, swaps, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the swapper");
        }
    }
}

/// Uses tools many times while `dir` is now a folder and now a link to the outside. Gives what they said when they
/// worked.
async fn race(call: impl Fn(usize) -> (&'static str, Value)) -> Vec<String> {
    const ROUNDS: usize = 20;
    const AT_ONCE: usize = 100;
    /// A busy machine gives the other thread little time; the race goes on until there was one.
    const SWAPS: usize = 200;
    let world = World::new();
    world.put("dir/secret.txt", "harmless and plain\n");
    world.put("dir/inside.txt", "");
    world.link("door", world.outside());
    let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
    let swapper = Swapper::new(&world, "dir", "door");
    let mut said = Vec::new();
    for round in 0.. {
        if round >= ROUNDS && swapper.swaps.load(Ordering::Relaxed) > SWAPS {
            break;
        }
        let calls: Vec<_> = (0..AT_ONCE).map(|index| call(round * AT_ONCE + index)).collect();
        for result in talk.calls(&calls).await {
            assert!(!result.output.contains(SECRET), "{}", result.output);
            said.extend(result.success.then_some(result.output));
        }
    }
    drop(swapper);
    world.assert_unharmed();
    assert!(!said.is_empty(), "nothing worked, so nothing was tried");
    said
}

/// Both names, since each of them is now the folder and now the link.
fn way(n: usize, name: &str) -> String {
    format!("{}/{name}", if n.is_multiple_of(2) { "dir" } else { "door" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_never_comes_from_outside() {
    race(|n| ("read_file", json!({"path": way(n, "secret.txt")}))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_never_lands_outside() {
    race(|n| match n % 3 {
        0 => ("write_file", json!({"path": way(n, &format!("{n}.txt")), "content": "new"})),
        1 => ("write_file", json!({"path": way(n, "secret.txt"), "content": format!("harmless {n}")})),
        _ => {
            let path = way(n, &format!("new{n}/deep/x.txt"));
            ("write_file", json!({"path": path, "content": "new", "create_parents": true}))
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn editing_never_reaches_outside() {
    race(|n| {
        let (old, new) = if n % 4 < 2 { ("a", "0") } else { ("0", "a") };
        let path = way(n, "secret.txt");
        ("edit_file", json!({"path": path, "old_string": old, "new_string": new, "replace_all": true}))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_finding_and_searching_never_look_outside() {
    let said = race(|n| match n % 3 {
        0 => ("list_dir", json!({"path": way(n, "")})),
        1 => ("search_files", json!({"path": way(n, ""), "pattern": "*"})),
        _ => ("grep", json!({"path": ".", "pattern": "canary|harmless"})),
    })
    .await;
    // Both folders have a file of one name; only the one inside has the other.
    for text in said.iter().filter(|text| text.contains("secret.txt")) {
        assert!(text.contains("inside.txt") || text.contains("harmless"), "{text}");
    }
}
