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

/// Uses a tool many times while `dir` is now a folder and now a link to the outside. Gives what it said when it worked.
async fn race(world: &World, times: usize, call: impl Fn(usize) -> (&'static str, Value)) -> Vec<String> {
    const AT_ONCE: usize = 100;
    let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
    let swapper = Swapper::new(world, "dir", "door");
    let mut said = Vec::new();
    for round in 0..times / AT_ONCE {
        let calls: Vec<_> = (0..AT_ONCE).map(|index| call(round * AT_ONCE + index)).collect();
        for result in talk.calls(&calls).await {
            assert!(!result.output.contains(SECRET), "{}", result.output);
            assert!(!result.output.contains("secret.txt"), "{}", result.output);
            said.extend(result.success.then_some(result.output));
        }
    }
    let swaps = swapper.swaps.load(Ordering::Relaxed);
    drop(swapper);
    world.assert_unharmed();
    assert!(swaps > times / 10, "{swaps} swaps are no race");
    assert!(!said.is_empty(), "nothing worked, so nothing was tried");
    said
}

/// `dir` holds a file of the same name as the secret outside; `door` leads there.
fn two_doors() -> World {
    let world = World::new();
    world.put("dir/x.txt", "harmless\n");
    world.link("door", world.outside());
    world
}

const TIMES: usize = 2000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_never_lands_outside() {
    let world = two_doors();
    race(&world, TIMES, |n| ("write_file", json!({"path": format!("dir/{n}.txt"), "content": "w"}))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn making_folders_never_happens_outside() {
    let world = two_doors();
    let path = |n| format!("dir/new{n}/deep/x.txt");
    race(&world, TIMES, |n| ("write_file", json!({"path": path(n), "content": "w", "create_parents": true}))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn editing_never_reaches_outside() {
    let world = two_doors();
    std::fs::write(world.outside().join("secret.txt"), SECRET).expect("the secret");
    world.put("dir/secret.txt", "0");
    race(&world, TIMES, |n| {
        let args = if n % 2 == 0 { ["a", "0"] } else { ["0", "a"] };
        ("edit_file", json!({"path": "dir/x.txt", "old_string": args[0], "new_string": args[1], "replace_all": true}))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_never_comes_from_outside() {
    let world = World::new();
    world.put("dir/name", "harmless\n");
    std::fs::remove_file(world.outside().join("secret.txt")).expect("the secret");
    std::fs::write(world.outside().join("name"), SECRET).expect("the secret by another name");
    world.link("door", world.outside());
    let mut talk = Talk::new(world.files(), |_| {}).await;
    let swapper = Swapper::new(&world, "dir", "door");
    let mut worked = 0;
    for _ in 0..TIMES / 100 {
        let calls: Vec<_> = (0..100)
            .map(|n| if n % 2 == 0 { "dir/name" } else { "door/name" })
            .map(|path| ("read_file", json!({ "path": path })))
            .collect();
        for result in talk.calls(&calls).await {
            assert!(!result.output.contains(SECRET), "{}", result.output);
            worked += usize::from(result.success);
        }
    }
    assert!(worked > 0 && swapper.swaps.load(Ordering::Relaxed) > TIMES / 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_finding_and_searching_never_look_outside() {
    let world = two_doors();
    race(&world, TIMES, |n| match n % 3 {
        0 => ("list_dir", json!({"path": "dir"})),
        1 => ("search_files", json!({"path": "dir", "pattern": "*"})),
        _ => ("grep", json!({"path": ".", "pattern": "canary|harmless"})),
    })
    .await;
}
