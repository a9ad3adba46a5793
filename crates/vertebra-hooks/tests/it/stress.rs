//! Many tasks dispatch while others change the hooks: every dispatch sees one table, whole.

use std::sync::Arc;

use vertebra_hooks::{Attach, HookOptions, HookSet, Hooks, Ran, Record, proceed};

use crate::world::{Calling, call, fire, hooks};

const READERS: usize = 4;
const DISPATCHES: usize = 1000;
const ROUNDS: usize = 150;

fn hook(set: &mut HookSet, name: &str) {
    set.on(Calling.named(name), async |_| proceed());
}

/// Installed together, taken away one by one, the left one first.
async fn pairs(hooks: Hooks, writer: usize) {
    for round in 0..ROUNDS {
        let (left, right) = (format!("left-{writer}-{round}"), format!("right-{writer}-{round}"));
        let mut pair = HookSet::new();
        hook(&mut pair, &left);
        hook(&mut pair, &right);
        hooks.install(pair).expect("new names");
        tokio::task::yield_now().await;
        hooks.remove(&left).expect("it was installed");
        hooks.remove(&right).expect("it was installed");
    }
}

/// One name, a new version each time.
async fn versions(hooks: Hooks) {
    for version in 1..=ROUNDS {
        let mut next = HookSet::new();
        next.on(Calling.named("version").priority(i32::try_from(version).expect("few")), async |_| proceed());
        hooks.replace("version", next).expect("there is always one");
        tokio::task::yield_now().await;
    }
}

async fn switches(hooks: Hooks) {
    for _ in 0..ROUNDS {
        hooks.disable("switched").expect("it stays");
        tokio::task::yield_now().await;
        hooks.enable("switched").expect("it stays");
    }
}

/// Hooks that cannot be installed; nothing of them may ever run.
async fn mistakes(hooks: Hooks) {
    for _ in 0..ROUNDS {
        let mut bad = HookSet::new();
        hook(&mut bad, "never");
        bad.on(Calling.named("never-either").after("nobody"), async |_| proceed());
        hooks.install(bad).expect_err("nobody is of that name");
        tokio::task::yield_now().await;
    }
}

fn complaints(record: &Record) -> Vec<String> {
    let has = |name: &str| record.hooks.iter().filter(|trace| *trace.hook == *name).count();
    let mut complaints = vec![];
    for trace in &record.hooks {
        if let Some(pair) = trace.hook.strip_prefix("left-")
            && has(&format!("right-{pair}")) != 1
        {
            complaints.push(format!("{} came alone", trace.hook));
        }
        if trace.hook.starts_with("never") {
            complaints.push(format!("{} ran", trace.hook));
        }
        let off = matches!(trace.ran, Ran::Skipped { .. });
        if off && &*trace.hook != "switched" {
            complaints.push(format!("{} was skipped", trace.hook));
        }
    }
    for always in ["version", "switched", "guard", "child-guard"] {
        if has(always) != 1 {
            complaints.push(format!("{always} was there {} times", has(always)));
        }
    }
    complaints
}

/// Dispatches at a child, and looks at the parent's versions, which may only go up.
async fn reads(child: Hooks) -> Vec<String> {
    let mut found = vec![];
    let mut newest = 0;
    for _ in 0..DISPATCHES {
        found.extend(complaints(&fire(&child, call("t")).await.outcome.record()));
        let version = child.get("version").map_or(-1, |hook| hook.priority);
        if version < newest {
            found.push(format!("version {version} came after {newest}"));
        }
        newest = version;
        tokio::task::yield_now().await;
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_dispatch_sees_one_whole_table_while_others_change_it() {
    let mut set = HookSet::new();
    set.on(Calling.named("version").priority(0), async |_| proceed());
    set.on(Calling.named("switched"), async |_| proceed());
    set.guard(Calling.named("guard"), async |_| proceed());
    let parent = hooks(set);
    let mut added = HookSet::new();
    added.guard(Calling.named("child-guard").after("guard"), async |_| proceed());
    let child = parent.child();
    child.install(added).expect("a new name");

    let writers = [
        tokio::spawn(pairs(parent.clone(), 0)),
        tokio::spawn(pairs(parent.clone(), 1)),
        tokio::spawn(pairs(child.clone(), 2)),
        tokio::spawn(versions(parent.clone())),
        tokio::spawn(switches(parent.clone())),
        tokio::spawn(mistakes(parent.clone())),
    ];
    let readers: Vec<_> = (0..READERS).map(|_| tokio::spawn(reads(child.clone()))).collect();
    for writer in writers {
        writer.await.expect("a writer does its rounds");
    }
    for reader in readers {
        assert_eq!(reader.await.expect("a reader does its rounds"), Vec::<String>::new());
    }

    let left: Vec<_> = child.list().iter().map(|hook| (hook.name.to_string(), hook.enabled)).collect();
    let expected = ["version", "switched", "guard", "child-guard"].map(|name| (name.to_owned(), true));
    assert_eq!(left, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_installation_is_lost_when_many_install_at_once() {
    let hooks = Hooks::default();
    let start = Arc::new(tokio::sync::Barrier::new(8));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let (hooks, start) = (hooks.clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                for round in 0..25 {
                    let mut set = HookSet::new();
                    hook(&mut set, &format!("{writer}-{round}"));
                    hooks.install(set).expect("new names");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer does its rounds");
    }

    assert_eq!(hooks.count(), 200);
    assert_eq!(fire(&hooks, call("t")).await.outcome.record().hooks.len(), 200);
}
